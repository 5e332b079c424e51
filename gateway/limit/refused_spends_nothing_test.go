package limit

import "testing"

// Ten thousand refusals in the meantime don't push recovery away.
func TestRefusedSpendsNothing(t *testing.T) {
	for kind, s := range scopes(Rate{QPS: 5, Burst: 5}) {
		t.Run(kind, func(t *testing.T) {
			granted(5, func() Decision { return s.allow(noon) })
			for i := range 10_000 {
				if s.allow(after(float64(i) * 0.199 / 10_000)).OK {
					t.Fatalf("granted before 0.2 s had passed")
				}
			}
			if d := s.allow(after(0.2)); !d.OK {
				t.Errorf("refused after 0.2 s at 5 a second: %+v", d)
			}
		})
	}
}
