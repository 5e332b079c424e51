package config

import (
	"log/slog"
	"strings"
	"testing"
)

func TestLevelChangesWhileLogging(t *testing.T) {
	var b strings.Builder
	var level slog.LevelVar
	warn, debug := Log{Level: "warn", Format: "json"}, Log{Level: "debug"}
	log := warn.LeveledLogger(&b, &level)
	log.Info("one")
	level.Set(debug.Threshold())
	log.Debug("two")
	if got := b.String(); strings.Contains(got, "one") || !strings.Contains(got, `"msg":"two"`) {
		t.Errorf("written: %s", got)
	}
}
