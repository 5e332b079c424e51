package server

import (
	"testing"

	"rushgate/gateway/admit"
)

// BenchmarkRefusal is the handler alone, without sockets.
func BenchmarkRefusal(b *testing.B) {
	g := build(b, nil)
	g.Start(b.Context())
	for _, path := range []string{"/seckill/early", "/seckill/out", "/seckill/nope"} {
		b.Run(path, func(b *testing.B) {
			ctx := parsed(b, request{path: path, user: "u", key: "0190a5b2-0000-7000-8000-000000000000", body: `{"qty":1}`})
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if i%1000 == 0 { // renews the mark
					_, _ = g.gate.Buy(b.Context(), admit.Request{Item: "out", User: "x", BizID: "x", Qty: 1})
				}
				g.handle(ctx)
			}
		})
	}
}
