package limit

import (
	"net/netip"
	"testing"
	"time"
)

func TestKnownKeysAllocateNothing(t *testing.T) {
	r := Rate{QPS: 5, Burst: 5}
	var (
		bucket = NewBucket(r)
		users  = NewKeyed[string](r, 100, noon)
		addrs  = NewKeyed[netip.Addr](r, 100, noon)
		items  = NewItems(ItemRates{Default: r}, 100)
		user   = []byte("a-user-whose-name-is-longer-than-the-32-bytes-of-a-small-buffer")
		addr   = netip.MustParseAddr("2001:db8::1")
		now    = noon
		head   = make([]byte, 0, 64)
	)
	paths := map[string]func() Decision{
		"bucket":     func() Decision { return bucket.Allow(now) },
		"user":       func() Decision { return users.Allow("ann", now) },
		"user bytes": func() Decision { return AllowBytes(users, user, now) },
		"address":    func() Decision { return addrs.Allow(addr, now) },
		"item":       func() Decision { return items.Allow("1001", now) },
		"headers": func() Decision {
			d := Decision{Rate: r, RetryAfter: time.Second}
			head = d.AppendState(d.AppendPolicy(head[:0], "user"), "user")
			return d
		},
	}
	for name, allow := range paths {
		t.Run(name, func(t *testing.T) {
			got := testing.AllocsPerRun(1000, func() {
				now = now.Add(10 * time.Millisecond)
				allow()
			})
			if got != 0 {
				t.Errorf("%v allocations a request, want 0", got)
			}
		})
	}
}

// The buffer that a key was looked up from is the caller's to reuse.
func TestBufferOfAKeyMayBeReused(t *testing.T) {
	k := NewKeyed[string](Rate{QPS: 1, Burst: 1}, 100, noon)
	buf := []byte("ann")
	AllowBytes(k, buf, noon)
	copy(buf, "bob")
	if d := AllowBytes(k, buf, noon); !d.OK {
		t.Errorf("bob is taken for ann: %+v", d)
	}
	if d := k.Allow("ann", noon); d.OK {
		t.Errorf("ann was forgotten when her buffer was reused: %+v", d)
	}
}
