package config

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
)

// CommandLine is what both programs' command lines share: where the
// configuration comes from, and how an error ends the program.
type CommandLine struct {
	Env            []string
	Stdout, Stderr io.Writer
	File           string
	Flags          map[string]*string // by configuration path; "" where not given
}

// Load reads the configuration with the flags that were given.
func (c *CommandLine) Load() (*Loaded, error) {
	flags := make(map[string]string, len(c.Flags))
	for path, value := range c.Flags {
		if *value != "" {
			flags[path] = *value
		}
	}
	return Load(Options{File: c.File, Env: c.Env, Flags: flags})
}

// Finish reports an error on Stderr and returns the exit code. An error that no
// command marked with [Failed] or an [Exit] is the command-line library's own:
// a command line that it could not read.
func (c *CommandLine) Finish(err error) int {
	var exit *Exit
	var bad *Error
	switch {
	case err == nil:
		return ExitOK
	case errors.As(err, &bad):
		_ = bad.Render(c.Stderr) // nothing better to do with a closed stderr
		return ExitConfig
	case errors.As(err, &exit):
		fmt.Fprintln(c.Stderr, "error:", err)
		return exit.Code
	}
	fmt.Fprintf(c.Stderr, "error: %v\nSee --help.\n", err)
	return ExitUsage
}

// Failed marks an error as a command's own, with ExitFailed unless it names a
// code already.
func Failed(err error) error {
	var exit *Exit
	var bad *Error
	if err == nil || errors.As(err, &exit) || errors.As(err, &bad) {
		return err
	}
	return &Exit{Code: ExitFailed, Err: err}
}

// Version prints what this program was built from.
func (c *CommandLine) Version(program string) error {
	version := "devel"
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		version = info.Main.Version
	}
	_, err := fmt.Fprintf(c.Stdout, "rushgate %s %s (%s, %s/%s)\n", program, version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return Failed(err)
}

// Secret is a ticket key with its secret read.
type Secret struct {
	ID     string
	Secret []byte
}

// Secrets reads the files of the keys.
func (t *Tickets) Secrets() ([]Secret, error) {
	all := make([]Secret, len(t.Keys))
	for i, k := range t.Keys {
		secret, err := ReadSecret(k.SecretFile)
		if err != nil {
			return nil, fmt.Errorf("tickets.keys[%d]: %w", i, err)
		}
		all[i] = Secret{k.ID, secret}
	}
	return all, nil
}
