package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"rushgate/backend/server"
	"rushgate/backend/store"
	"rushgate/config"
)

// commandTime bounds a command: it waits for a database, not for a person.
const commandTime = 30 * time.Second

// program is one run of the command line.
type program struct{ config.CommandLine }

// run executes the command line and returns the exit code.
func run(ctx context.Context, args, env []string, stdout, stderr io.Writer) int {
	p := &program{config.CommandLine{Env: env, Stdout: stdout, Stderr: stderr, Flags: map[string]*string{}}}
	root := p.root()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	return p.Finish(root.ExecuteContext(ctx))
}

func (p *program) root() *cobra.Command {
	root := &cobra.Command{
		Use:           "backend",
		Short:         "Rushgate's backend: keeps the orders of a flash sale in SQL",
		Long:          "Rushgate's backend keeps the orders of a flash sale in SQL, and has the commands that operate it. Without a command it serves.",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
		RunE:          func(c *cobra.Command, _ []string) error { return p.serve(c.Context()) },
	}
	f := root.PersistentFlags()
	f.StringVar(&p.File, "config", "", "configuration `file`")
	for _, flag := range []struct{ name, path, usage string }{
		{"listen", "backend.listen", "`address` for gateways, host:port; port 0 picks one"},
		{"data", "data", "`folder` of the embedded database"},
	} {
		p.Flags[flag.path] = f.String(flag.name, "", flag.usage)
	}
	root.AddCommand(
		&cobra.Command{Use: "serve", Short: "Serve (what it does without a command)", Args: cobra.NoArgs, RunE: root.RunE},
		p.sale(), p.stock(), p.audit(),
		&cobra.Command{Use: "version", Short: "Print the version", Args: cobra.NoArgs, RunE: func(*cobra.Command, []string) error { return p.Version("backend") }},
	)
	return root
}

// withStore runs a command against the database that is there. A mistyped folder
// must not be answered with an empty database in which everything is right.
func (p *program) withStore(ctx context.Context, f func(context.Context, *config.Config, *store.Store) error) error {
	l, err := p.Load()
	if err != nil {
		return err
	}
	if l.Config.SQL.Driver == "sqlite" {
		if _, err := os.Stat(server.DatabaseFile(&l.Config)); err != nil {
			return &config.Exit{Code: config.ExitUnreachable, Err: fmt.Errorf("no database: %w (name the folder of the gateway or backend with --data)", err)}
		}
	}
	return p.withNewStore(ctx, l, f)
}

// withNewStore runs a command against the configured database, which is created
// where there is none.
func (p *program) withNewStore(ctx context.Context, l *config.Loaded, f func(context.Context, *config.Config, *store.Store) error) error {
	ctx, cancel := context.WithTimeout(ctx, commandTime)
	defer cancel()
	s, err := server.OpenStore(ctx, &l.Config, nil)
	if err != nil {
		return &config.Exit{Code: config.ExitUnreachable, Err: err}
	}
	err = f(ctx, &l.Config, s)
	if cerr := s.Close(); err == nil {
		err = cerr
	}
	return config.Failed(err)
}

// table writes lines of tab-separated cells in columns.
func (p *program) table(lines func(w io.Writer)) error {
	w := tabwriter.NewWriter(p.Stdout, 0, 0, 2, ' ', 0)
	lines(w)
	return w.Flush()
}

func (p *program) json(v any) error {
	enc := json.NewEncoder(p.Stdout)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// stamp writes Unix milliseconds for people.
func stamp(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02 15:04:05Z") }

// money writes integer cents for people, without a currency.
func money(cents int64) string { return fmt.Sprintf("%d.%02d", cents/100, cents%100) }
