package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rushgate/backend/store/storetest"
)

// A secret is replaced in three steps while a sale goes on, in one file that
// gateway and backend follow, each in its own time.
func TestTicketKeysRotatedDuringASale(t *testing.T) {
	f := openFleet(t, storetest.PostgreSQL(t), 1, 1, fleetLimits)
	first := filepath.Join(filepath.Dir(f.file), "ticket.key")
	second := filepath.Join(filepath.Dir(f.file), "second.key")
	write(t, second, strings.Repeat("another secret ", 4))
	const units = 80
	putOnSale(t, f.store, f.doors, saleOf("1", units))
	crowd := besiege("1", 8, f.doors...)
	door, gateway := f.doors[0], f.gateways[0].address("metrics")
	sold := int64(0)
	for _, keys := range []string{
		keyList("k1", first, "k2", second), keyList("k2", second, "k1", first), keyList("k2", second),
	} {
		sold += 10
		door.eventually("some are sold", func() bool { return f.left("1") <= units-sold })
		admins := []string{gateway, f.backends[0].address("metrics")}
		before := make([]float64, len(admins))
		for i, admin := range admins {
			before[i] = reloads(t, admin)
		}
		f.setKeys(keys)
		for i, admin := range admins {
			door.eventually("the keys are in force", func() bool { return reloads(t, admin) > before[i] })
		}
	}
	door.eventually("everything is sold", func() bool { return f.left("1") == 0 })
	honest(t, f.store, "1", units, crowd.end())
	for _, outcome := range []string{"overloaded", "upstream_failed", "unknown_outcome"} {
		if n := counted(t, gateway, "rushgate_requests_total", `outcome="`+outcome+`"`); n != 0 {
			t.Errorf("%v purchases were told %s: a ticket was not believed", n, outcome)
		}
	}
}

// reloads are those that changed something.
func reloads(t *testing.T, admin string) float64 {
	t.Helper()
	return counted(t, admin, "rushgate_config_reloads_total", `result="changed"`)
}

// keyList writes ids and files in turns as tickets.keys.
func keyList(pairs ...string) string {
	var list []string
	for i := 0; i < len(pairs); i += 2 {
		list = append(list, fmt.Sprintf("{id: %s, secret_file: %q}", pairs[i], pairs[i+1]))
	}
	return "tickets: {keys: [" + strings.Join(list, ", ") + "]}"
}

// setKeys puts other keys into the file that all nodes share.
func (f *fleet) setKeys(line string) {
	f.t.Helper()
	text, err := os.ReadFile(f.file)
	if err != nil {
		f.t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	for i := range lines {
		if strings.HasPrefix(lines[i], "tickets:") {
			lines[i] = line
		}
	}
	write(f.t, f.file+".new", strings.Join(lines, "\n"))
	if err := os.Rename(f.file+".new", f.file); err != nil {
		f.t.Fatal(err)
	}
}
