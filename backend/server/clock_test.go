package server

import (
	"context"
	"errors"
	"testing"
	"time"
)

func TestClockOfANodeMinutesAway(t *testing.T) {
	truth := time.Date(2026, 11, 11, 12, 0, 0, 0, time.UTC)
	for name, off := range map[string]time.Duration{"ahead": 5 * time.Minute, "behind": -5 * time.Minute, "right": 0} {
		t.Run(name, func(t *testing.T) {
			at, answers := truth, true
			c := clock{local: func() time.Time { return at.Add(off) }, sql: func(context.Context) (int64, error) {
				at = at.Add(2 * time.Millisecond) // there
				defer func() { at = at.Add(2 * time.Millisecond) }()
				if !answers {
					return 0, errors.New("gone")
				}
				return at.UnixMilli(), nil
			}}
			near := func() bool { return c.now().Sub(at).Abs() <= 3*time.Millisecond }
			if err := c.look(t.Context()); err != nil || !near() {
				t.Errorf("%v, the clock says %v at %v", err, c.now(), at)
			}
			answers, at = false, at.Add(time.Hour)
			if err := c.look(t.Context()); err == nil || !near() {
				t.Errorf("%v, without an answer the clock says %v at %v", err, c.now(), at)
			}
		})
	}
}
