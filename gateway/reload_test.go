package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// reloadFile is a gateway with a limit on item 2 that a test moves.
const reloadFile = `
listen: "127.0.0.1:0"
admin: {listen: "127.0.0.1:0"}
limits:
  user: {qps: 1000000, burst: 1000000}
  item: {qps: 1000000, burst: 1000000}
  global: {qps: 1000000, burst: 1000000}
  items: {"2": {qps: %d, burst: %d}}
`

// moving is a gateway in a process of its own, whose configuration moves.
type moving struct {
	*node
	*door
	t     *testing.T
	file  string
	admin string
}

func openMoving(t *testing.T, qps, burst int) *moving {
	t.Helper()
	m := &moving{t: t, file: filepath.Join(t.TempDir(), "rushgate.yaml")}
	m.write(qps, burst)
	data := t.TempDir()
	runBackend(t, "sale", "create", "--data", data, "--item", "2", "--title", "Two", "--price", "100", "--units", "100",
		"--starts", "now", "--ends", "1h", "--per-user", "1")
	m.node = startNode(t, "gateway", m.file, "is open", map[string]string{"RUSHGATE_DATA": data})
	m.door, m.admin = doorOf(t, m.address("sale page")), m.address("metrics")
	return m
}

// write puts the configuration in place as an editor does.
func (m *moving) write(qps, burst int) {
	m.t.Helper()
	next := m.file + ".new"
	write(m.t, next, fmt.Sprintf(reloadFile, qps, burst))
	if err := os.Rename(next, m.file); err != nil {
		m.t.Fatal(err)
	}
}

// reloaded counts reloads by result.
func (m *moving) reloaded(result string) float64 {
	m.t.Helper()
	return counted(m.t, m.admin, "rushgate_config_reloads_total", `result="`+result+`"`)
}

// inForce waits until the last configuration that was written is in force.
func (m *moving) inForce(before float64) {
	m.t.Helper()
	m.eventually("the new configuration is in force", func() bool { return m.reloaded("changed") > before })
}

// ask reloads by the admin API and returns its answer.
func (m *moving) ask() (status int) {
	m.t.Helper()
	ctx, cancel := context.WithTimeout(m.t.Context(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+m.admin+"/admin/reload", strings.NewReader(""))
	if err != nil {
		m.t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		m.t.Fatal(err)
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}

// Whatever tells the gateway to reload, and however often, no request is dropped,
// no burst handed out, and the rate that holds is the last.
func TestTwoHundredReloadsUnderLoad(t *testing.T) {
	const low, high, burst = 20, 60, 5
	m := openMoving(t, low, burst)
	m.eventually("the item is on sale", func() bool { return m.get("/items/2", "").status == http.StatusOK })
	var stop atomic.Bool
	var passed atomic.Int64
	var crowd sync.WaitGroup
	start := time.Now()
	for i := range 6 {
		crowd.Go(func() {
			for n := 0; !stop.Load(); n++ { // no answer at all fails the test, in send
				if a := m.buy(click{item: "2", user: "hammer", key: fmt.Sprintf("%d-%d", i, n)}); a.Code != "limited" {
					passed.Add(1)
					continue
				}
				time.Sleep(5 * time.Millisecond)
			}
		})
	}
	for i := range 200 {
		before := m.reloaded("changed")
		m.write([]int{high, low}[i%2], burst)
		switch i % 4 {
		case 0, 1:
			if err := m.cmd.Process.Signal(syscall.SIGHUP); err != nil {
				t.Fatal(err)
			}
		case 2:
			if status := m.ask(); status != http.StatusOK {
				t.Fatalf("reload %d by the admin API: %d", i, status)
			}
		default: // the file's own event
		}
		m.inForce(before)
	}
	stop.Store(true)
	crowd.Wait()
	if most := burst + high*time.Since(start).Seconds() + 1; float64(passed.Load()) > most {
		t.Errorf("%d passed, more than %.0f, which is all that the higher limit lets flow in: a reload gave a burst", passed.Load(), most)
	}
	m.holds(low, burst)
	if n := m.reloaded("changed"); n != 200 {
		t.Errorf("%v reloads changed something, want 200", n)
	}
	if n := m.reloaded("failed"); n != 0 {
		t.Errorf("%v reloads failed", n)
	}
	if n := counted(t, m.admin, "rushgate_config_hash"); n != 1 {
		t.Errorf("%v series of the configuration's hash, want 1", n)
	}
}

// holds hammers the item and fails unless its limit is the one given.
func (m *moving) holds(qps, burst float64) {
	m.t.Helper()
	passed, took := hammer([]*door{m.door}, 4, 3*time.Second)
	flowed := qps * took.Seconds()
	if float64(passed) > flowed+burst+1 || float64(passed) < flowed/2 {
		m.t.Errorf("%d passed in %v, want about %.0f", passed, took, flowed)
	}
}

func TestBadFileKeepsTheLastGoodOne(t *testing.T) {
	m := openMoving(t, 20, 5)
	m.eventually("the item is on sale", func() bool { return m.get("/items/2", "").status == http.StatusOK })
	write(t, m.file, "limits: {items: {\"2\": {qps: -1, burst: 5}}}\n")
	m.eventually("the failure is counted", func() bool { return m.reloaded("failed") > 0 })
	if status := m.ask(); status != http.StatusUnprocessableEntity {
		t.Errorf("the admin API says %d to a bad file, want 422", status)
	}
	if ok := counted(t, m.admin, "rushgate_config_last_reload_successful"); ok != 0 {
		t.Errorf("the last reload counts as successful")
	}
	m.holds(20, 5)
	if !strings.Contains(m.said.String(), "rushgate.yaml:1:") || !strings.Contains(m.said.String(), "limits.items.2.qps") {
		t.Errorf("the log names no place:\n%s", m.said)
	}
	before := m.reloaded("changed")
	m.write(40, 5)
	m.inForce(before)
	m.holds(40, 5)
	if ok := counted(t, m.admin, "rushgate_config_last_reload_successful"); ok != 1 {
		t.Errorf("a good file after a bad one is not a success")
	}
}
