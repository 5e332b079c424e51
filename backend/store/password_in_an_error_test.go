package store_test

import (
	"net"
	"strings"
	"testing"
	"time"

	"rushgate/backend/store"
)

func TestPasswordInAnError(t *testing.T) {
	for _, dsn := range []string{
		"host=h port=x dbname=d user=u password = hunter2",
		"postgres://u:hunter2@h:x/d",
		"host=h dbname=d password=hunter2 sslmode=bogus",
	} {
		_, err := store.Open(t.Context(), store.Options{Driver: "postgres", DSN: dsn})
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: %v, want an error without the password", dsn, err)
		}
	}
}

// A server that accepts a connection and says nothing is given up on long before a
// migration would be.
func TestServerThatSaysNothingHoldsTheStart(t *testing.T) {
	t.Parallel()
	mute, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = mute.Close() }()
	failed := make(chan error, 1)
	go func() {
		_, err := store.Open(t.Context(), store.Options{Driver: "mysql", DSN: "u:p@tcp(" + mute.Addr().String() + ")/d?timeout=200ms"})
		failed <- err
	}()
	select {
	case err := <-failed:
		if err == nil {
			t.Error("a server that says nothing was opened")
		}
	case <-time.After(time.Minute):
		t.Error("it is still waited for after a minute")
	}
}
