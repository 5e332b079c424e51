package order_test

import (
	"errors"
	"fmt"
	"testing"

	"rushgate/backend/api"
	"rushgate/backend/store/storetest"
)

// failing makes the first n inserts of an order fail as a serialization failure
// does, by a trigger. What it counts with is not rolled back.
func failing(s *storetest.Server, n int) string {
	if s.Driver() == "mysql" {
		// MariaDB reports a conflict as a deadlock.
		return fmt.Sprintf("CREATE SEQUENCE tries; "+
			"CREATE TRIGGER fail BEFORE INSERT ON orders FOR EACH ROW "+
			"IF NEXT VALUE FOR tries <= %d THEN SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1213; END IF", n)
	}
	return failure(n) + "CREATE TRIGGER fail BEFORE INSERT ON orders FOR EACH ROW EXECUTE FUNCTION fail()"
}

// failingCommits makes PostgreSQL report the failure in answer to the commit, where
// it judges what was put off.
func failingCommits(n int) string {
	return failure(n) + "CREATE CONSTRAINT TRIGGER fail AFTER INSERT ON orders DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION fail()"
}

func failure(n int) string {
	return fmt.Sprintf("CREATE SEQUENCE tries; CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "+
		"IF nextval('tries') <= %d THEN RAISE serialization_failure; END IF; RETURN NEW; END $$; ", n)
}

func TestSerializationFails(t *testing.T) {
	onServers(t, shared, func(t *testing.T, start func(testing.TB) *storetest.Server) {
		w := openWired(t, start(t), nil)
		w.server.Exec(t, failing(w.server, 2))
		w.failsTwice(t)
	})
}

func TestSerializationFailsAtTheCommit(t *testing.T) {
	t.Parallel()
	w := openWired(t, storetest.StartPostgreSQL(t), nil)
	w.server.Exec(t, failingCommits(2))
	w.failsTwice(t)
}

// failsTwice fails the test unless the third transaction makes the order.
func (w *wired) failsTwice(t *testing.T) {
	t.Helper()
	p := buy("1", "u", "k", 1)
	w.is(t, p, w.places(t, p), 9)
	if n := w.faults.updates.Load(); n != 3 {
		t.Errorf("%d transactions, want three", n)
	}
}

func TestSerializationFailsForEver(t *testing.T) {
	onServers(t, shared, func(t *testing.T, start func(testing.TB) *storetest.Server) {
		w := openWired(t, start(t), nil)
		w.server.Exec(t, failing(w.server, attempts))
		p := buy("1", "u", "k", 1)
		a := <-w.placing(t, p)
		if !errors.Is(a.err, api.ErrFailed) || errors.Is(a.err, api.ErrUnknown) {
			t.Errorf("told %+v, %v; want failed", a.order, a.err)
		}
		if n := w.faults.updates.Load(); n != attempts {
			t.Errorf("%d transactions, want %d", n, attempts)
		}
		w.isNot(t, p, 10)
		w.is(t, p, w.places(t, p), 9)
	})
}
