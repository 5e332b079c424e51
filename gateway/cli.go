package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"rushgate/config"
)

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
		Use:           "gateway",
		Short:         "Rushgate's gateway: fronts a flash sale",
		Long:          "Rushgate's gateway fronts a flash sale. Without a command it serves; without a configuration it runs the whole shop in one process.",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
		RunE:          func(c *cobra.Command, _ []string) error { return p.serve(c.Context()) },
	}
	f := root.PersistentFlags()
	f.StringVar(&p.File, "config", "", "configuration `file`")
	for _, flag := range []struct{ name, path, usage string }{
		{"listen", "listen", "public `address`, host:port; port 0 picks one"},
		{"admin", "admin.listen", "admin `address`, host:port"},
		{"data", "data", "`folder` of the embedded database"},
	} {
		p.Flags[flag.path] = f.String(flag.name, "", flag.usage)
	}
	root.AddCommand(
		&cobra.Command{Use: "serve", Short: "Serve (what it does without a command)", Args: cobra.NoArgs, RunE: root.RunE},
		&cobra.Command{Use: "check", Short: "Check the configuration and say what is wrong with it", Args: cobra.NoArgs, RunE: p.check},
		p.show(),
		&cobra.Command{Use: "version", Short: "Print the version", Args: cobra.NoArgs, RunE: func(*cobra.Command, []string) error { return p.Version("gateway") }},
	)
	return root
}

func (p *program) check(*cobra.Command, []string) error {
	l, err := p.Load()
	if err != nil {
		return err
	}
	name := l.File
	if name == "" {
		name = "the defaults"
	}
	_, err = fmt.Fprintf(p.Stdout, "%s: good (hash %.12s)\n", name, l.Hash)
	return config.Failed(err)
}

func (p *program) show() *cobra.Command {
	var format string
	c := &cobra.Command{
		Use: "show", Short: "Print every effective value and where it comes from; secrets are masked", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			l, err := p.Load()
			if err != nil {
				return err
			}
			return config.Failed(l.Show(p.Stdout, format))
		},
	}
	c.Flags().StringVar(&format, "format", "yaml", "`yaml` or json")
	return c
}
