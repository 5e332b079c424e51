package lua

import (
	"strconv"
	"testing"
	"time"
)

// BenchmarkAdmit measures what a request costs by what it is told, alone and in
// batches. A sale of a hundred thousand units is opened anew when it is sold.
func BenchmarkAdmit(b *testing.B) {
	for _, size := range []int{1, 32, 256} {
		b.Run("admitted/batch="+strconv.Itoa(size), func(b *testing.B) {
			const units = 100_000
			m, rush := NewMemory(MemoryOptions{}), crowd(units)
			batch, sent := seedForBench(b, m, 0, units), 0
			for b.Loop() {
				if sent+size > units {
					batch, sent = seedForBench(b, m, batch.Epoch, units), 0
				}
				batch.Requests = rush[sent : sent+size]
				sent += size
				admitForBench(b, m, batch, Admitted)
			}
			perRequest(b, size)
		})
		b.Run("sold out/batch="+strconv.Itoa(size), func(b *testing.B) {
			m := NewMemory(MemoryOptions{})
			batch := seedForBench(b, m, 0, 0)
			batch.Requests = crowd(size)
			batch.Version = admitForBench(b, m, batch, SoldOut).Version
			for b.Loop() {
				admitForBench(b, m, batch, SoldOut)
			}
			perRequest(b, size)
		})
		b.Run("again/batch="+strconv.Itoa(size), func(b *testing.B) {
			m := NewMemory(MemoryOptions{})
			batch := seedForBench(b, m, 0, int64(size))
			batch.Requests = crowd(size)
			admitForBench(b, m, batch, Admitted)
			for b.Loop() {
				admitForBench(b, m, batch, Again)
			}
			perRequest(b, size)
		})
	}
}

// seedForBench opens the epoch after the last one and returns a batch for it.
func seedForBench(b *testing.B, m *Memory, last, units int64) Batch {
	b.Helper()
	now := time.Now()
	s := Seed{
		Item: "1001", Epoch: last + 1, PerUser: 1, Stock: units,
		StartsAt: now.Add(-time.Minute).UnixMilli(), EndsAt: now.Add(time.Hour).UnixMilli(),
	}
	if err := m.Seed(b.Context(), s); err != nil {
		b.Fatal(err)
	}
	return Batch{Item: s.Item, Epoch: s.Epoch}
}

func admitForBench(b *testing.B, m *Memory, batch Batch, want Verdict) Reply {
	b.Helper()
	reply, err := m.Admit(b.Context(), batch)
	if err != nil || reply.Verdicts[0] != want {
		b.Fatalf("Admit = %v, %v, want %v", reply.Verdicts[0], err, want)
	}
	return reply
}

func perRequest(b *testing.B, size int) {
	b.Helper()
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(size), "ns/request")
}
