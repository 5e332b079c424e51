package config

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestBadFileChangesNothing(t *testing.T) {
	lookedAt(t, rate(1), WatchOptions{}, func(t *testing.T, file string, f *followed) {
		before := f.Current()
		for i, bad := range []string{"limits: {user: {qps: -1}}\n", "limit: {}\n", "log: {level: loud}\n"} {
			write(t, file, bad)
			pass(time.Minute)
			all := f.told()
			if len(all) != 1 || all[0].Err == nil || all[0].Changed || all[0].Hash != before.Hash {
				t.Fatalf("told %+v of %s", all, bad)
			}
			if f.Current() != before || len(f.applied) != 0 || len(f.Pending()) != 0 {
				t.Errorf("%s changed something", bad)
			}
			if n := f.log.count("level=ERROR"); n != i+1 {
				t.Errorf("%d errors in the log, want %d:\n%s", n, i+1, f.log.text.String())
			}
		}
		if f.log.count("write a number of requests a second") != 1 {
			t.Errorf("the hint is not in the log:\n%s", f.log.text.String())
		}

		write(t, file, rate(1))
		pass(time.Minute)
		if all := f.told(); len(all) != 1 || all[0].Err != nil || all[0].Changed {
			t.Errorf("told %+v, want a success without a change", all)
		}
		if n := f.log.count("configuration is good again"); n != 1 {
			t.Errorf("it is said %d times that it is good again:\n%s", n, f.log.text.String())
		}
	})
}

// A new configuration names a key that comes a moment later, as it does where two
// secrets are mounted.
func TestFileThatABadConfigurationNamesAppears(t *testing.T) {
	lookedAt(t, rate(1), WatchOptions{}, func(t *testing.T, file string, f *followed) {
		key := filepath.Join(filepath.Dir(file), "key")
		write(t, file, "tickets: {keys: [{id: k1, secret_file: "+key+"}]}\n")
		pass(time.Minute)
		if all := f.told(); len(all) != 1 || all[0].Err == nil {
			t.Fatalf("told %+v, want an error", all)
		}
		write(t, key, strings.Repeat("k", minSecret))
		pass(time.Minute)
		if all := f.told(); len(all) != 1 || all[0].Err != nil || !all[0].Changed {
			t.Fatalf("told %+v, want a success", all)
		}
		if got := f.Current().Config.Tickets.Keys; len(got) != 1 {
			t.Errorf("keys are %v", got)
		}
	})
}

// What refuses to take a configuration into use is not asked again for the same.
func TestConfigurationThatCannotBeTakenIntoUse(t *testing.T) {
	errFull := errors.New("no room")
	refuse := errFull
	asked := 0
	apply := func(*Loaded, []Change) error { asked++; return refuse }
	lookedAt(t, rate(1), WatchOptions{Apply: apply}, func(t *testing.T, file string, f *followed) {
		before := f.Current()
		write(t, file, rate(2))
		pass(time.Hour)
		all := f.told()
		if len(all) != 1 || !errors.Is(all[0].Err, errFull) || all[0].Changed || all[0].Hash != before.Hash || asked != 1 {
			t.Fatalf("asked %d times, told %+v", asked, all)
		}
		if f.Current() != before || len(f.Pending()) != 0 {
			t.Error("it is in use all the same")
		}
		if _, err := f.Reload(t.Context(), "admin"); !errors.Is(err, errFull) || asked != 2 {
			t.Errorf("asked %d times, error %v", asked, err)
		}
		refuse = nil
		r, err := f.Reload(t.Context(), "admin")
		if err != nil || r.Hash == before.Hash || len(r.Changes) != 1 {
			t.Errorf("report %+v, %v", r, err)
		}
		f.becomes(t, 2)
	})
}

// A Load of somebody's own may fail without saying what it read.
func TestErrorWithoutFilesIsToldOnce(t *testing.T) {
	load := func() (*Loaded, error) { return nil, errors.New("no") }
	lookedAt(t, rate(1), WatchOptions{Load: load}, func(t *testing.T, file string, f *followed) {
		write(t, file, rate(2))
		pass(time.Hour)
		if all := f.told(); len(all) != 1 {
			t.Errorf("told %+v", all)
		}
	})
}

func TestReloadTellsWhatItDid(t *testing.T) {
	live := func(path string) bool { return path != "listen" && path != "sql.conns" }
	at := time.Date(2026, 11, 11, 0, 0, 0, 0, time.UTC)
	lookedAt(t, rate(1), WatchOptions{Live: live, Poll: 24 * time.Hour, Now: func() time.Time { return at }}, func(t *testing.T, file string, f *followed) {
		r, err := f.Reload(t.Context(), "admin")
		if diff := cmp.Diff(Report{Hash: f.Current().Hash}, r); err != nil || diff != "" {
			t.Errorf("nothing changed: %v, -want +got:\n%s", err, diff)
		}
		write(t, file, rate(2)+"listen: \":81\"\nsql: {conns: 8}\n")
		r, err = f.Reload(t.Context(), "admin")
		want := Report{Hash: f.Current().Hash, Restart: []string{"listen", "sql.conns"}, Changes: []Change{
			{Path: "listen", Old: `":8080"`, New: `":81"`, Origin: Origin{FromFile, file, 2, 9}},
			{Path: "sql.conns", Old: "16", New: "8", Origin: Origin{FromFile, file, 3, 14}},
			{Path: "limits.user.qps", Old: "1", New: "2", Origin: Origin{FromFile, file, 1, 22}},
		}}
		if diff := cmp.Diff(want, r); err != nil || diff != "" {
			t.Errorf("%v, -want +got:\n%s", err, diff)
		}
		if diff := cmp.Diff([][]Change{want.Changes}, f.applied); diff != "" {
			t.Errorf("applied: -want +got:\n%s", diff)
		}
		for _, words := range []string{`listen: \":8080\" → \":81\"; sql.conns: 16 → 8; limits.user.qps: 1 → 2`, `after_a_restart="listen; sql.conns"`, "cause=admin"} {
			if f.log.count(words) == 0 {
				t.Errorf("no %s in the log:\n%s", words, f.log.text.String())
			}
		}
		wantOutcomes := []Outcome{
			{Hash: hash(mustLoad(t, rate(1), Options{}).Config), Cause: "admin", At: at},
			{Hash: r.Hash, Changed: true, Cause: "admin", At: at},
		}
		if diff := cmp.Diff(wantOutcomes, f.told()); diff != "" {
			t.Errorf("told: -want +got:\n%s", diff)
		}

		// Back to where the process started: nothing is pending any more.
		write(t, file, rate(2)+"sql: {conns: 8}\n")
		if _, err = f.Reload(t.Context(), "admin"); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"sql.conns"}, f.Pending()); diff != "" {
			t.Errorf("pending: -want +got:\n%s", diff)
		}
	})
}
