package lua

import (
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"rushgate/lua/luatest"
)

// BenchmarkRedisAdmit measures admissions a second by the size of a batch. A batch
// of one is an EVALSHA for each request, 64 of them in flight; of the others two are
// in flight, as a gateway sends them. The clients run on the same machine.
func BenchmarkRedisAdmit(b *testing.B) {
	for _, load := range []struct{ size, inFlight int }{{1, 64}, {32, 2}, {128, 2}} {
		b.Run("batch="+strconv.Itoa(load.size), func(b *testing.B) {
			s, _ := overRedis(b, luatest.Start(b).Addr())
			s.open(b, "1001", int64(b.N*load.size))
			var batches atomic.Int64
			var running sync.WaitGroup
			b.ResetTimer()
			for range load.inFlight {
				running.Go(func() {
					for {
						n := int(batches.Add(1))
						if n > b.N {
							return
						}
						requests := make([]Request, load.size)
						for i := range requests {
							who := strconv.Itoa(n*load.size + i)
							requests[i] = ask("user-"+who, "018f3f2e-7b6a-7c3e-9a52-"+who)
						}
						reply, err := s.Admit(b.Context(), Batch{Item: "1001", Epoch: 1, Requests: requests})
						if err != nil || reply.Verdicts[load.size-1] != Admitted {
							b.Errorf("Admit = %v, %v", reply.Verdicts, err)
							return
						}
					}
				})
			}
			running.Wait()
			b.ReportMetric(float64(b.N*load.size)/b.Elapsed().Seconds(), "requests/s")
		})
	}
}
