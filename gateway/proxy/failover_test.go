package proxy

import (
	"errors"
	"net"
	"slices"
	"testing"
	"time"
)

// exchangeOnce sends a small POST without a client.
func exchangeOnce(u *Upstreams) error {
	x := trips.Get().(*trip)
	defer x.release()
	x.isHEAD = false
	x.request = append(x.request[:0], "POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 5\r\n\r\n"...)
	x.body = []byte("hello")
	return u.groups["app"].exchange(x)
}

func isErr(err error, all ...error) bool {
	return !slices.ContainsFunc(all, func(e error) bool { return !errors.Is(err, e) })
}

// TestFailover: only a server that could not be connected to is replaced, by
// one other, and it is left alone for a second.
func TestFailover(t *testing.T) {
	b := startBackend(t, nil)
	ups := newUpstreams(t, Options{Servers: []string{refusingAddr(t), b.addr}})
	g := ups.groups["app"]
	for range 4 {
		if err := exchangeOnce(ups); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(b.requests()); n != 4 {
		t.Errorf("%d requests, want 4", n)
	}
	if until := time.Unix(0, g.servers[0].downUntil.Load()); !until.Equal(testNow.Add(downFor)) {
		t.Errorf("refusing server down until %v, want %v", until, testNow.Add(downFor))
	}
	if until := g.servers[1].downUntil.Load(); until != 0 {
		t.Errorf("good server down until %d", until)
	}
}

func TestNoServerReachable(t *testing.T) {
	ups := newUpstreams(t, Options{Servers: []string{refusingAddr(t), refusingAddr(t), refusingAddr(t)}})
	if err := exchangeOnce(ups); !isErr(err, ErrUnreachable) || errors.Is(err, ErrBroken) || errors.Is(err, ErrTimeout) {
		t.Errorf("%v, want ErrUnreachable alone", err)
	}
	down := 0
	for _, s := range ups.groups["app"].servers {
		if s.downUntil.Load() != 0 {
			down++
		}
	}
	if down != 2 {
		t.Errorf("%d servers tried, want 2", down)
	}
}

// TestOnlyServer: with no other there is no second attempt.
func TestOnlyServer(t *testing.T) {
	ups := newUpstreams(t, Options{Servers: []string{refusingAddr(t)}})
	dials, pool := 0, ups.groups["app"].servers[0].pool
	dial := pool.DialTimeout
	pool.DialTimeout = func(addr string, d time.Duration) (net.Conn, error) {
		dials++
		return dial(addr, d)
	}
	if err := exchangeOnce(ups); !isErr(err, ErrUnreachable) || dials != 1 {
		t.Errorf("%v after %d dials, want ErrUnreachable after 1", err, dials)
	}
}

// TestBrokenIsNotFailover: what was sent is not sent to another server.
func TestBrokenIsNotFailover(t *testing.T) {
	hangUp := func(int, int) (string, bool) { return "", true }
	a, b := startBackend(t, hangUp), startBackend(t, hangUp)
	ups := newUpstreams(t, Options{Servers: []string{a.addr, b.addr}})
	if err := exchangeOnce(ups); !isErr(err, ErrBroken) || errors.Is(err, ErrUnreachable) {
		t.Errorf("%v, want ErrBroken alone", err)
	}
	if n := len(a.requests()) + len(b.requests()); n != 1 {
		t.Errorf("%d requests, want 1", n)
	}
}

func TestPick(t *testing.T) {
	now := time.Unix(1000, 0)
	servers := func(states ...[2]int64) []*server { // in flight, down for seconds
		var all []*server
		for _, s := range states {
			one := &server{}
			one.inFlight.Store(s[0])
			if s[1] != 0 {
				one.downUntil.Store(now.Add(time.Duration(s[1]) * time.Second).UnixNano())
			}
			all = append(all, one)
		}
		return all
	}
	for _, tt := range []struct {
		name    string
		servers []*server
		turn    uint32
		not     int // index, -1 for none
		want    int // index, -1 for nil
	}{
		{"the idlest", servers([2]int64{3, 0}, [2]int64{1, 0}, [2]int64{2, 0}), 0, -1, 1},
		{"equals take turns", servers([2]int64{1, 0}, [2]int64{1, 0}, [2]int64{1, 0}), 2, -1, 2},
		{"turns go round", servers([2]int64{1, 0}, [2]int64{1, 0}), 1<<32 - 1, -1, 1},
		{"a down server is not asked", servers([2]int64{0, 1}, [2]int64{9, 0}), 0, -1, 1},
		{"up again", servers([2]int64{0, -1}, [2]int64{9, 0}), 0, -1, 0},
		{"all down: the idlest", servers([2]int64{4, 1}, [2]int64{2, 1}), 0, -1, 1},
		{"another one", servers([2]int64{0, 0}, [2]int64{9, 0}), 0, 0, 1},
		{"another one, though down", servers([2]int64{0, 0}, [2]int64{9, 1}), 0, 0, 1},
		{"no other", servers([2]int64{0, 0}), 0, 0, -1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var not *server
			if tt.not >= 0 {
				not = tt.servers[tt.not]
			}
			if got := slices.Index(tt.servers, pick(tt.servers, tt.turn, now, not)); got != tt.want {
				t.Errorf("server %d, want %d", got, tt.want)
			}
		})
	}
}

func TestOptionsAreChecked(t *testing.T) {
	for name, o := range map[string]Options{
		"none":    {},
		"no port": {Servers: []string{"127.0.0.1"}},
		"no host": {Servers: []string{":80"}},
		"a URL":   {Servers: []string{"http://127.0.0.1:80"}},
	} {
		if _, err := New("test", map[string]Options{"app": o}, time.Now); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := New("a b", nil, time.Now); err == nil {
		t.Error("instance with a space: no error")
	}
}
