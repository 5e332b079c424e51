package store_test

import (
	"testing"

	"rushgate/backend/store/storetest"
)

// onEngines runs a test over every engine, each with a database of its own.
func onEngines(t *testing.T, f func(*testing.T, *storetest.Database)) {
	t.Helper()
	for _, e := range storetest.Engines(t) {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			f(t, e.Database(t))
		})
	}
}
