package server

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// pingTime bounds the question behind /readyz.
const pingTime = 2 * time.Second

// AdminServer is the backend's listener for operators: /livez while the process
// serves at all, /readyz while the database answers, /metrics. It belongs on
// loopback or a private network.
func AdminServer(registry *prometheus.Registry, ping func(context.Context) error) *http.Server {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), pingTime)
		defer cancel()
		if err := ping(ctx); err != nil {
			http.Error(w, "the database does not answer: "+err.Error(), http.StatusServiceUnavailable)
			return
		}
		_, _ = fmt.Fprintln(w, "ready")
	})
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	return HTTPServer("", mux)
}
