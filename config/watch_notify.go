package config

import (
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fsnotify/fsnotify"
)

// notifier hears from the system that something happened to files. It watches
// folders, since a watch on a file stays with what an editor has renamed away,
// and every folder on the way to a file in which a symbolic link stands: a
// ConfigMap is swapped by one link, two steps from the file. A nil notifier hears
// nothing.
type notifier struct {
	system *fsnotify.Watcher
	names  map[string]bool // of files, links and folders whose events count
	warned map[string]bool // folders that can't be watched
}

func newNotifier() (*notifier, error) {
	system, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, err
	}
	return &notifier{system: system, warned: map[string]bool{}}, nil
}

func (n *notifier) close() {
	if n != nil {
		_ = n.system.Close() // it only ever returns nil
	}
}

func (n *notifier) events() <-chan fsnotify.Event {
	if n == nil {
		return nil
	}
	return n.system.Events
}

func (n *notifier) failures() <-chan error {
	if n == nil {
		return nil
	}
	return n.system.Errors
}

// concerns says that an event may have changed what one of the files holds. Other
// files share their folders, maybe a database.
func (n *notifier) concerns(e fsnotify.Event) bool {
	anything := fsnotify.Create | fsnotify.Write | fsnotify.Remove | fsnotify.Rename | fsnotify.Chmod
	return e.Has(anything) && n.names[filepath.Clean(e.Name)]
}

// follow watches for files, and stops for others. It is called after every look,
// because a link may have been turned, and the system forgets a folder that was
// removed. It reports whether other folders are watched than before: what happened
// in one just before it is, or was still to be told of one that is no more, isn't
// heard of.
func (n *notifier) follow(files []string, log *slog.Logger) (turned bool) {
	if n == nil {
		return false
	}
	n.names = map[string]bool{}
	folders := map[string]bool{}
	for _, file := range files {
		trail(file, func(folder, name string) {
			folders[folder], n.names[folder], n.names[name] = true, true, true
		})
	}
	watched := n.system.WatchList()
	for _, folder := range watched {
		if !folders[folder] {
			_ = n.system.Remove(folder) // it may be gone already
			turned = true
		}
	}
	for folder := range folders {
		if slices.Contains(watched, folder) {
			continue
		}
		err := n.system.Add(folder)
		turned = turned || err == nil
		if err != nil && !os.IsNotExist(err) && !n.warned[folder] {
			n.warned[folder] = true
			log.Warn("a folder is not watched, only looked at", "folder", folder, "error", err)
		}
	}
	maps.DeleteFunc(n.warned, func(folder string, _ bool) bool { return !folders[folder] })
	return turned
}

// mostLinks is how many symbolic links a name may lead through, as in Linux
// (path_resolution(7)).
const mostLinks = 40

// trail visits each symbolic link on the way to a file, and the file itself, with
// the folder that it stands in. It ends at the first name that isn't there.
func trail(file string, visit func(folder, name string)) {
	path, err := filepath.Abs(file)
	if err != nil {
		return
	}
	at, rest := split(path)
	for links := 0; len(rest) > 0 && links <= mostLinks; {
		name := filepath.Join(at, rest[0])
		rest = rest[1:]
		info, err := os.Lstat(name)
		isLink := err == nil && info.Mode()&os.ModeSymlink != 0
		if isLink || err != nil || len(rest) == 0 {
			visit(at, name)
		}
		if err != nil {
			return
		}
		if !isLink {
			at = name
			continue
		}
		links++
		target, err := os.Readlink(name)
		if err != nil {
			return
		}
		steps := strings.Split(filepath.Clean(target), string(filepath.Separator))
		if filepath.IsAbs(target) {
			at, steps = split(filepath.Clean(target))
		}
		rest = append(steps, rest...)
	}
}

// split takes an absolute path apart.
func split(path string) (root string, names []string) {
	root = filepath.VolumeName(path) + string(filepath.Separator)
	return root, strings.FieldsFunc(path[len(root):], func(r rune) bool { return r == filepath.Separator })
}
