// Command gateway fronts a flash sale: it refuses most of a rush cheaply and
// hands as many buyers as there are units to a backend that sells under SQL.
//
// Without a configuration it runs the whole shop in one process.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Environ(), os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
