package config

import (
	"io"
	"log/slog"
)

// Logger writes as the configuration says.
func (l *Log) Logger(w io.Writer) *slog.Logger {
	return l.LeveledLogger(w, new(slog.LevelVar))
}

// LeveledLogger is Logger with a level that can change while it is used. It sets
// level to l's; whoever takes a new configuration into use sets it to the new
// one's [Log.Threshold]. The format stays.
func (l *Log) LeveledLogger(w io.Writer, level *slog.LevelVar) *slog.Logger {
	level.Set(l.Threshold())
	opt := &slog.HandlerOptions{Level: level}
	if l.Format == "json" {
		return slog.New(slog.NewJSONHandler(w, opt))
	}
	return slog.New(slog.NewTextHandler(w, opt))
}

// Threshold is the least level that is written.
func (l *Log) Threshold() slog.Level {
	var level slog.Level
	_ = level.UnmarshalText([]byte(l.Level)) // validated with the rest
	return level
}
