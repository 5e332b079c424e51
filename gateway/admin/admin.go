// Package admin is the listener for operators: is it alive, is it ready, what
// does it count, what does it do. It belongs on loopback or a private network.
package admin

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/pprof"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Check is one thing that must hold for the process to be ready.
type Check struct {
	Name string
	Ask  func(context.Context) error
}

// checkTime bounds all checks of one request together.
const checkTime = 2 * time.Second

// Options of the listener.
type Options struct {
	Registry *prometheus.Registry
	Checks   []Check

	// Token returns the bearer token that /admin/ asks for; it is called for each
	// request, so that a token can be replaced. No token, "", lets nobody in. A
	// nil Token says that none is configured: then /admin/ is for this machine
	// alone.
	Token func() []byte
	// Config writes the configuration in force as JSON, secrets masked. nil:
	// there is no /admin/config.
	Config func(io.Writer) error
	// Reload reads the configuration again and puts it in force. It returns what
	// to tell the operator, a value for JSON; after an error nothing has changed.
	// nil: there is no /admin/reload.
	Reload func(context.Context) (any, error)
	// Log takes one line for each change that somebody asked for. nil: none.
	Log *slog.Logger
}

// New returns a server for the admin listener:
//
//   - /livez answers 200 while the process serves at all;
//   - /readyz answers 200 when every check holds, else 503; ?verbose lists them;
//   - /healthz is /readyz under the name that some load balancers ask for;
//   - /metrics speaks the Prometheus text format;
//   - /debug/pprof/ profiles;
//   - GET /admin/config shows the configuration in force, and POST /admin/reload
//     reads it anew: 200, or 422 where it cannot be used and nothing has changed.
//     Both are behind [Options.Token].
func New(o Options) *http.Server {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprintln(w, "ok") })
	mux.Handle("GET /readyz", ready(o.Checks))
	mux.Handle("GET /healthz", ready(o.Checks))
	mux.Handle("GET /metrics", promhttp.HandlerFor(o.Registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	newOperator(&o).register(mux, &o)
	return &http.Server{
		Handler:           mux,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      2 * time.Minute, // a profile takes as long as it is asked to
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    16 << 10,
	}
}

func ready(checks []Check) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), checkTime)
		defer cancel()
		status := http.StatusOK
		var lines strings.Builder
		for _, c := range checks {
			if err := c.Ask(ctx); err != nil {
				status = http.StatusServiceUnavailable
				fmt.Fprintf(&lines, "[-] %s: %v\n", c.Name, err)
			} else {
				fmt.Fprintf(&lines, "[+] %s: ok\n", c.Name)
			}
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.WriteHeader(status)
		if r.URL.Query().Has("verbose") {
			_, _ = fmt.Fprint(w, lines.String())
		}
		_, _ = fmt.Fprintln(w, map[bool]string{true: "ready", false: "not ready"}[status == http.StatusOK])
	}
}
