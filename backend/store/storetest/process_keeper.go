package storetest

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
)

// keeperScript waits until nobody holds the other end of its input any more, which
// is when this process has ended, however it did. Then it ends every process that
// works in the folder (a server's working folder is its data folder, and so is that
// of its children, frozen ones too, which no signal of their parent's death wakes)
// and removes the folder.
const keeperScript = `
trap '' HUP INT TERM
read -r _
for try in 1 2 3 4 5; do
	found=
	for link in /proc/[0-9]*/cwd; do
		case $(readlink "$link" 2>/dev/null) in "$1"/*)
			pid=${link#/proc/}
			kill -9 "${pid%/cwd}" 2>/dev/null && found=1 ;;
		esac
	done
	[ "$found" ] || break
	[ "$try" = 1 ] || sleep 1
done
rm -rf "$1"
`

// keeper guards a folder for data: when it is closed, or this process ends, the
// folder goes, and who still works in it.
type keeper struct {
	dir string
	cmd *exec.Cmd
	end io.Closer
}

// keep makes a folder and its keeper.
func keep() (*keeper, error) {
	dir, err := os.MkdirTemp("", "rushgate-storetest-")
	if err != nil {
		return nil, err
	}
	cmd := exec.Command("/bin/sh", "-c", keeperScript, "sh", dir) //nolint:gosec,noctx // a fixed script; close ends it
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}          // no signal of a terminal's ends it early
	// It shares our output, so that who reads that to its end finds nothing left.
	cmd.Stderr = os.Stderr
	end, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		_ = os.RemoveAll(dir)
		return nil, fmt.Errorf("start the keeper of %s: %w", dir, err)
	}
	// Another user's server must reach its own folder in it, and no more.
	if err := os.Chmod(dir, 0o711); err != nil { //nolint:gosec // see above
		_ = end.Close()
		_ = cmd.Wait()
		return nil, err
	}
	return &keeper{dir: dir, cmd: cmd, end: end}, nil
}

// close removes the folder and waits until it is gone.
func (k *keeper) close() {
	_ = k.end.Close()
	_ = k.cmd.Wait()
}
