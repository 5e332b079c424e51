package limit

import (
	"strconv"
	"sync/atomic"
	"testing"
	"time"
)

func BenchmarkBucket(b *testing.B) {
	bucket := NewBucket(Rate{QPS: 1000, Burst: 100})
	now := time.Now()
	b.ReportAllocs()
	for b.Loop() {
		now = now.Add(time.Microsecond)
		bucket.Allow(now)
	}
}

func BenchmarkKeyedBytes(b *testing.B) {
	const users = 1 << 16
	now := time.Now()
	k := NewKeyed[string](Rate{QPS: 5, Burst: 5}, 2*users, now)
	keys := make([][]byte, users)
	for i := range keys {
		keys[i] = []byte("user-" + strconv.Itoa(i))
		AllowBytes(k, keys[i], now)
	}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		now = now.Add(time.Microsecond)
		AllowBytes(k, keys[i%users], now)
		i++
	}
}

func BenchmarkKeyedParallel(b *testing.B) {
	now := time.Now()
	k := NewKeyed[string](Rate{QPS: 5, Burst: 5}, 1<<16, now)
	key := []byte("one-hot-user")
	var at atomic.Int64
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			AllowBytes(k, key, now.Add(time.Duration(at.Add(100))))
		}
	})
}

func BenchmarkKeyedFlood(b *testing.B) {
	now := time.Now()
	k := NewKeyed[int](Rate{QPS: 5, Burst: 5}, 1<<16, now)
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		now = now.Add(time.Microsecond)
		k.Allow(i, now)
		i++
	}
}

func BenchmarkItems(b *testing.B) {
	items := NewItems(ItemRates{Default: Rate{QPS: 2000, Burst: 200}}, 1024)
	now := time.Now()
	b.ReportAllocs()
	for b.Loop() {
		now = now.Add(time.Microsecond)
		items.Allow("1001", now)
	}
}

func BenchmarkClusterBucket(b *testing.B) {
	c := NewCluster(ClusterOptions{Ledger: newBooks()})
	bucket := c.Bucket("global", Rate{QPS: 1e9, Burst: 1e9})
	b.ReportAllocs()
	for b.Loop() {
		bucket.Allow(time.Now())
	}
	if err := c.Close(b.Context()); err != nil {
		b.Error(err)
	}
}
