package order_test

import (
	"path/filepath"
	"slices"
	"testing"

	"rushgate/backend/order"
	"rushgate/backend/reseed"
	"rushgate/backend/store"
	"rushgate/backend/store/storetest"
)

// The controls: the same rushes with one of SQL's guards taken away. They show
// that the tests of this package can fail, and that the audit then says why.

func TestControlWithoutTheGuardOnUnits(t *testing.T) {
	file := filepath.Join(t.TempDir(), "rushgate.db")
	s := storetest.OpenFile(t, file, nil)
	create(t, s, "1", 10, 1)
	storetest.Exec(t, file, "CREATE TRIGGER no_guard AFTER UPDATE OF num ON sales BEGIN UPDATE sales SET num = OLD.num WHERE item = NEW.item; END")
	if sold := rush(t, s, users(200)); sold <= 10 {
		t.Errorf("without the guard %d of 10 units were sold: the rush would not have shown an oversell", sold)
	}
	names(t, s, "1", "oversell")
}

func TestControlWithoutTheQuotaRow(t *testing.T) {
	file := filepath.Join(t.TempDir(), "rushgate.db")
	s := storetest.OpenFile(t, file, nil)
	create(t, s, "1", 1000, 1)
	storetest.Exec(t, file, "CREATE TRIGGER no_quota AFTER INSERT ON user_quota BEGIN DELETE FROM user_quota WHERE item = NEW.item AND user_id = NEW.user_id; END")
	sold := rush(t, s, users(50))
	second := users(50)
	for i := range second {
		second[i].Key.BizID = "again"
	}
	if sold += rush(t, s, second); sold <= 50 {
		t.Errorf("without the quota row 50 buyers have %d orders: the rush would not have shown a duplicate", sold)
	}
	names(t, s, "1", "over_limit")
	names(t, s, "1", "quota_drift")
}

func rush(t *testing.T, s *store.Store, wants []order.Purchase) (sold int) {
	t.Helper()
	_, errs := together(t.Context(), open(t, s, nil).Placer, wants)
	for _, err := range errs {
		if err == nil {
			sold++
		}
	}
	return sold
}

// names fails the test unless the audit of an item names a class.
func names(t *testing.T, s *store.Store, item, class string) {
	t.Helper()
	r, err := reseed.Audit(t.Context(), s, nil, item)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(r.Findings, func(f reseed.Finding) bool { return f.Class == class }) {
		t.Errorf("the audit does not name %s: %+v", class, r.Findings)
	}
}
