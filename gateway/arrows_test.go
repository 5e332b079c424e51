package main_test

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "rushgate"

// arrow says which packages of ours a package may import. "x" is the package x,
// "x/..." all below x, "..." all.
type arrow struct {
	from string
	to   []string
}

// arrows is the shape of the program: nouns and contracts in the middle, one
// package for each technology round them, and the two programs, which alone see
// everything. The first row that matches a package holds for it.
var arrows = []arrow{
	// What everyone may read imports nothing.
	{"config", nil},
	{"config/reload", []string{"config"}},
	{"lua", nil},
	{"backend/api", nil},
	{"backend/order", []string{"backend/api"}},

	// Leaves: useful without the rest.
	{"backend/lock", nil},
	{"gateway/blacklist", nil},
	{"gateway/identity", nil},
	{"gateway/limit", nil},
	{"gateway/proxy", nil},
	{"gateway/timesync", nil},
	{"gateway/web", nil},

	// A gateway knows its backend by the contract alone.
	{"gateway/server", []string{"backend/api", "config", "gateway/...", "lua"}},
	{"gateway/admit", []string{"backend/api", "gateway/...", "lua"}},
	{"gateway/...", []string{"backend/api", "gateway/..."}},

	// A backend knows no gateway.
	{"backend/server", []string{"backend/...", "config", "lua"}},
	{"backend/...", []string{"backend/...", "lua"}},
	{"lua/...", []string{"lua"}},

	// The programs. A gateway can have its backend inside.
	{"gateway", []string{"..."}},
	{"backend", []string{"backend/...", "config", "config/...", "lua"}},
}

// relaxed says what the tests of a package may import besides. All rows that
// match hold.
var relaxed = []arrow{
	{"gateway", []string{"..."}},
	{"gateway/web", []string{"gateway/web/..."}},
	// Orders are tested on the real store, behind the real filter.
	{"backend/order", []string{"backend/...", "lua"}},
	{"lua", []string{"lua/luatest"}},
	// What stands on Redis is tested on Redis.
	{"backend/lock", []string{"lua/luatest"}},
	{"gateway/limit", []string{"lua/luatest"}},
	{"gateway/timesync", []string{"lua/luatest"}},
}

// use is one import of ours, as it stands in a file.
type use struct {
	file string // and line
	from string // folder of the importing package
	to   string // folder of the imported one
	test bool   // in a _test.go file
}

func TestImportAgainstTheArrows(t *testing.T) {
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil || !strings.HasPrefix(string(mod), "module "+module+"\n") {
		t.Fatalf("%s is not the root of module %s: %v", root, module, err)
	}
	packages, uses := scan(t, root)
	for _, must := range []string{"gateway", "lua", "config", "backend/api"} {
		if !slices.Contains(packages, must) {
			t.Errorf("package %s was not found: the walk missed it", must)
		}
	}
	for _, p := range packages {
		if _, ok := rowOf(p); !ok {
			t.Errorf("package %s has no row: say in arrows what it may import", p)
		}
	}
	for _, u := range uses {
		if reason := forbidden(u.from, u.to, u.test); reason != "" {
			t.Errorf("%s: %s imports %s: %s", u.file, u.from, u.to, reason)
		}
	}
}

// forbidden says why a package must not import another, or "".
func forbidden(from, to string, test bool) string {
	if from == to && test {
		return "" // an external test of the package itself
	}
	row, ok := rowOf(from)
	if !ok {
		return "no row says what it may import"
	}
	allowed := slices.Clone(row.to)
	if test {
		for _, r := range relaxed {
			if matches(r.from, from) {
				allowed = append(allowed, r.to...)
			}
		}
	} else if isForTests(to) && !isForTests(from) {
		return "only tests may import it"
	}
	if slices.ContainsFunc(allowed, func(pattern string) bool { return matches(pattern, to) }) {
		return ""
	}
	if len(allowed) == 0 {
		return "it may import nothing of ours"
	}
	return "it may import only " + strings.Join(allowed, ", ")
}

func rowOf(pkg string) (arrow, bool) {
	i := slices.IndexFunc(arrows, func(a arrow) bool { return matches(a.from, pkg) })
	if i < 0 {
		return arrow{}, false
	}
	return arrows[i], true
}

func matches(pattern, pkg string) bool {
	if pattern == "..." {
		return true
	}
	if above, ok := strings.CutSuffix(pattern, "..."); ok {
		return strings.HasPrefix(pkg, above)
	}
	return pattern == pkg
}

// isForTests says that a package exists for tests, as storetest beside store.
func isForTests(pkg string) bool {
	name := path.Base(pkg)
	return strings.HasSuffix(name, "test") && path.Base(path.Dir(pkg))+"test" == name
}

// scan parses the imports of all Go files, whatever their build constraints, and
// returns the folders that hold any, and the imports of ours.
func scan(t *testing.T, root string) (packages []string, uses []use) {
	t.Helper()
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && file != root && isSkipped(d.Name()) {
			return fs.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(file, ".go") {
			return nil
		}
		rel, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		found, err := usesOf(file, filepath.ToSlash(rel))
		packages, uses = append(packages, path.Dir(filepath.ToSlash(rel))), append(uses, found...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(packages)
	return slices.Compact(packages), uses
}

// isSkipped says that Go takes nothing of ours from a folder of this name.
func isSkipped(name string) bool {
	return strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || name == "testdata" || name == "vendor"
}

func usesOf(file, rel string) (uses []use, err error) {
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, file, nil, parser.ImportsOnly)
	if err != nil {
		return nil, err
	}
	for _, spec := range parsed.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return nil, err
		}
		to, ours := strings.CutPrefix(imported, module+"/")
		if !ours {
			continue
		}
		uses = append(uses, use{
			file: fmt.Sprintf("%s:%d", rel, set.Position(spec.Pos()).Line),
			from: path.Dir(rel),
			to:   to,
			test: strings.HasSuffix(rel, "_test.go"),
		})
	}
	return uses, nil
}

// A rule that forbids nothing would pass everywhere.
func TestForbiddenImportPasses(t *testing.T) {
	const code, test = false, true
	for _, tt := range []struct {
		from, to string
		test     bool
		allowed  bool
	}{
		{"gateway", "backend/store", code, true},
		{"gateway", "backend/store/storetest", test, true},
		{"gateway", "backend/store/storetest", code, false},
		{"gateway/server", "config", code, true},
		{"gateway/server", "gateway/admit", code, true},
		{"gateway/admit", "lua", code, true},
		{"gateway/catalogue", "backend/api", code, true},
		{"backend", "backend/server", code, true},
		{"backend/server", "config", code, true},
		{"backend/store", "backend/order", code, true},
		{"backend/order", "backend/api", code, true},
		{"backend/order", "backend/store/storetest", test, true},
		{"backend/order", "lua", test, true},
		{"backend/store/storetest", "backend/store", code, true},
		{"lua", "lua", test, true},
		{"lua", "lua", code, false},

		{"config", "lua", code, false},
		{"lua", "config", code, false},
		{"lua", "backend/api", test, false},
		{"backend/api", "backend/order", code, false},
		{"backend/order", "lua", code, false},
		{"backend/order", "backend/store", code, false},
		{"backend/lock", "backend/api", code, false},
		{"backend/store", "config", code, false},
		{"backend/store", "gateway/limit", code, false},
		{"backend/store", "gateway/limit", test, false},
		{"backend", "gateway/server", code, false},
		{"gateway/limit", "config", code, false},
		{"gateway/limit", "gateway/identity", code, false},
		{"gateway/catalogue", "lua", code, false},
		{"gateway/catalogue", "config", code, false},
		{"gateway/admit", "config", code, false},
		{"gateway/admit", "backend/order", code, false},
		{"gateway/server", "backend/store", code, false},
		{"gateway/server", "backend/store", test, false},
		{"gateway/web", "gateway/web/webtest", code, false},
		{"gateway/web", "gateway/web/webtest", test, true},
		{"tools", "config", code, false},
	} {
		if reason := forbidden(tt.from, tt.to, tt.test); (reason == "") != tt.allowed {
			t.Errorf("%s imports %s (test file: %t): %q, want allowed: %t", tt.from, tt.to, tt.test, reason, tt.allowed)
		}
	}
}

// So would a walk that sees no imports.
func TestImportHidesFromTheWalk(t *testing.T) {
	root := t.TempDir()
	for file, source := range map[string]string{
		"gateway/limit/plain.go":    "package limit\n\nimport \"rushgate/config\"\n",
		"gateway/limit/named.go":    "package limit\n\nimport (\n\t_ \"fmt\"\n\tc \"rushgate/config\"\n)\n",
		"gateway/limit/tagged.go":   "//go:build never\n\npackage limit\n\nimport . `rushgate/config`\n",
		"gateway/limit/a_test.go":   "package limit_test\n\nimport _ \"rushgate/config\"\n",
		"gateway/testdata/no.go":    "package no\n\nimport _ \"rushgate/config\"\n",
		"gateway/.hidden/no.go":     "package no\n\nimport _ \"rushgate/config\"\n",
		"gateway/foreign/import.go": "package foreign\n\nimport _ \"rushgatebutnot/config\"\n",
	} {
		file = filepath.Join(root, filepath.FromSlash(file))
		if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(source), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	packages, got := scan(t, root)
	want := []use{
		{"gateway/limit/a_test.go:3", "gateway/limit", "config", true},
		{"gateway/limit/named.go:5", "gateway/limit", "config", false},
		{"gateway/limit/plain.go:3", "gateway/limit", "config", false},
		{"gateway/limit/tagged.go:5", "gateway/limit", "config", false},
	}
	if !slices.Equal(got, want) {
		t.Errorf("imports of ours found:\n got %v\nwant %v", got, want)
	}
	if want := []string{"gateway/foreign", "gateway/limit"}; !slices.Equal(packages, want) {
		t.Errorf("packages found: %v, want %v", packages, want)
	}
}
