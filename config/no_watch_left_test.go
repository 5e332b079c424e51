package config

import (
	"testing"
	"time"
)

// All inotify instances of a user are taken: that is told once, and the looks go
// on.
func TestNoWatchIsLeft(t *testing.T) {
	lookedAt(t, rate(1), WatchOptions{}, func(t *testing.T, file string, f *followed) {
		for qps := 2; qps <= 3; qps++ {
			write(t, file, rate(qps))
			pass(time.Minute)
			if all := f.told(); len(all) != 1 || all[0].Err != nil {
				t.Fatalf("told %+v", all)
			}
			f.becomes(t, float64(qps))
		}
		if n := f.log.count("level=WARN"); n != 1 || f.log.count("too many open files") != 1 {
			t.Errorf("%d warnings:\n%s", n, f.log.text.String())
		}
	})
}
