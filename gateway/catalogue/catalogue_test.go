package catalogue

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"rushgate/backend/api"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// backend answers each call as it is told to, and notes the ETags.
type backend struct {
	mu     sync.Mutex
	tags   []string
	answer func(ctx context.Context, call int, etag string) (api.Catalogue, error)
}

func (b *backend) Catalogue(ctx context.Context, etag string) (api.Catalogue, error) {
	b.mu.Lock()
	b.tags = append(b.tags, etag)
	call := len(b.tags)
	b.mu.Unlock()
	return b.answer(ctx, call, etag)
}

func (b *backend) calls() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.tags)
}

func sells(etag string, items ...string) api.Catalogue {
	c := api.Catalogue{ETag: etag}
	for i, item := range items {
		c.Sales = append(c.Sales, api.Sale{Item: item, Epoch: int64(i + 1)})
	}
	return c
}

func open(b *backend, o Options) *Catalogue {
	o.Source, o.Timeout = b, time.Second
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return New(o)
}

func TestUnchangedCatalogueIsReadTwice(t *testing.T) {
	b := &backend{answer: func(_ context.Context, call int, etag string) (api.Catalogue, error) {
		switch {
		case call == 3:
			return sells("b", "2"), nil
		case etag == "a":
			return api.Catalogue{}, fmt.Errorf("catalogue: %w", api.ErrNotModified)
		}
		return sells("a", "1", "2"), nil
	}}
	changes := 0
	c := open(b, Options{Changed: func(*Snapshot) { changes++ }})
	if c.Snapshot() != nil || c.Up() {
		t.Fatal("known and up before anybody was asked")
	}
	var seen []*Snapshot
	for range 3 {
		if err := c.Refresh(t.Context()); err != nil || !c.Up() {
			t.Fatalf("%v, up: %t", err, c.Up())
		}
		seen = append(seen, c.Snapshot())
	}
	if diff := cmp.Diff([]string{"", "a", "a"}, b.tags); diff != "" {
		t.Errorf("ETags sent (-want +got)\n%s", diff)
	}
	if seen[0] != seen[1] || seen[1] == seen[2] || changes != 2 {
		t.Errorf("%d changes of three renewals, of which the second brought nothing", changes)
	}
	if v := seen[0].Sale([]byte("2")); v == nil || v.Epoch != 2 {
		t.Errorf("sale 2 is %+v", v)
	}
	if seen[0].Sale([]byte("3")) != nil || seen[2].Sale([]byte("1")) != nil {
		t.Error("a sale is found that is not there")
	}
	if n := testing.AllocsPerRun(100, func() { seen[0].Sale([]byte("2")) }); n != 0 {
		t.Errorf("finding a sale allocates %v times", n)
	}
}

// Whatever the error, the last catalogue stays.
func TestBackendDown(t *testing.T) {
	down := false
	b := &backend{answer: func(_ context.Context, _ int, _ string) (api.Catalogue, error) {
		if down {
			return api.Catalogue{}, api.ErrFailed
		}
		return sells("", "1"), nil
	}}
	c := open(b, Options{})
	refresh := func(wantUp bool) {
		t.Helper()
		if err := c.Refresh(t.Context()); (err == nil) != wantUp || c.Up() != wantUp {
			t.Fatalf("%v, up: %t, want up: %t", err, c.Up(), wantUp)
		}
	}
	refresh(true)
	down = true
	refresh(false)
	if s := c.Snapshot(); s == nil || s.Sale([]byte("1")) == nil {
		t.Error("the sales are gone with the backend")
	}
	down = false
	refresh(true)

	for err, up := range map[error]bool{
		nil:                true,
		api.ErrFailed:      true,
		api.ErrUnknown:     true,
		&api.Refusal{}:     true,
		errors.New("disk"): true,
		fmt.Errorf("placing: %w", api.ErrUnreachable): false,
	} {
		refresh(true)
		if c.Report(err); c.Up() != up {
			t.Errorf("after %v: up: %t, want %t", err, c.Up(), up)
		}
	}
}

// A reader who finds a sale finds it wherever Changed leads to, too.
func TestSaleIsSeenBeforeItIsKnown(t *testing.T) {
	b := &backend{answer: func(context.Context, int, string) (api.Catalogue, error) { return sells("", "1"), nil }}
	var c *Catalogue
	changed := false
	c = open(b, Options{Changed: func(s *Snapshot) {
		changed = true
		if c.Snapshot() == s || c.Up() {
			t.Error("seen before Changed has returned")
		}
	}})
	if err := c.Refresh(t.Context()); err != nil || !changed {
		t.Fatal(err, changed)
	}
}

// A crowd that asks during a call shares the next one, and does not take the answer of
// the one that began before it asked.
func TestCrowdIsToldWhatWasTrueBeforeItAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		b := &backend{answer: func(_ context.Context, call int, _ string) (api.Catalogue, error) {
			<-release
			return sells("", fmt.Sprint("seen by call ", call)), nil
		}}
		c := open(b, Options{})
		told := make(chan string, 1001)
		ask := func() {
			err := c.Refresh(t.Context())
			if s := c.Snapshot(); err == nil && s != nil {
				told <- s.Sales[0].Item
				return
			}
			told <- fmt.Sprint(err)
		}
		go ask()
		synctest.Wait()
		for range 1000 {
			go ask()
		}
		synctest.Wait()
		if n := b.calls(); n != 1 {
			t.Fatalf("%d calls at a time", n)
		}
		release <- struct{}{}
		if got := <-told; got != "seen by call 1" {
			t.Errorf("the first was told %q", got)
		}
		synctest.Wait()
		if len(told) != 0 {
			t.Error("some took the answer of a call from before they asked")
		}
		release <- struct{}{}
		for range 1000 {
			if got := <-told; got != "seen by call 2" {
				t.Fatalf("one of the crowd was told %q", got)
			}
		}
		if n := b.calls(); n != 2 {
			t.Errorf("%d calls for everybody, want 2", n)
		}
	})
}

// A call lasts no longer than Timeout, and a caller no longer than its ctx; the
// end of the first caller is not the end of the others.
func TestRenewalHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &backend{answer: func(ctx context.Context, _ int, _ string) (api.Catalogue, error) {
			<-ctx.Done()
			return api.Catalogue{}, fmt.Errorf("%w: %w", api.ErrFailed, ctx.Err())
		}}
		c := open(b, Options{})
		first, leave := context.WithCancel(t.Context())
		errs := make(chan error, 2)
		go func() { errs <- c.Refresh(first) }()
		synctest.Wait()
		leave()
		if err := <-errs; !errors.Is(err, context.Canceled) {
			t.Errorf("who left was told %v", err)
		}
		go func() { errs <- c.Refresh(t.Context()) }()
		if err := <-errs; !errors.Is(err, api.ErrFailed) || c.Up() {
			t.Errorf("told %v, up: %t", err, c.Up())
		}
	})
}

// Run says once that the backend went, and once that it is back.
func TestLogFillsWhileTheBackendIsDown(t *testing.T) {
	for name, tt := range map[string]struct {
		known bool // a renewal succeeded before
		want  []string
	}{
		"went and came back": {true, []string{"WARN", "INFO"}},
		"came late":          {false, []string{"INFO"}}, // whoever started has said so
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log strings.Builder
				began := time.Now()
				b := &backend{answer: func(_ context.Context, _ int, _ string) (api.Catalogue, error) {
					if now := time.Since(began); now > 0 && now < time.Minute {
						return api.Catalogue{}, api.ErrUnreachable
					}
					return sells("", "1"), nil
				}}
				c := open(b, Options{Log: levels(&log)})
				if tt.known {
					if err := c.Refresh(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				ctx, stop := context.WithCancel(t.Context())
				done := make(chan struct{})
				go func() { c.Run(ctx, time.Second); close(done) }()
				time.Sleep(2 * time.Minute)
				stop()
				<-done
				if diff := cmp.Diff(tt.want, strings.Fields(log.String())); diff != "" {
					t.Errorf("logged (-want +got)\n%s", diff)
				}
				if !c.Up() {
					t.Error("the backend is back, and counts as down")
				}
			})
		})
	}
}

// levels logs the level alone, a line each.
func levels(w io.Writer) *slog.Logger {
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.LevelKey {
			_, _ = fmt.Fprintln(w, a.Value)
		}
		return slog.Attr{}
	}}))
}
