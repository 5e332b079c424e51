package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"time"

	"golang.org/x/time/rate"
)

// reloadTime bounds one reload. It goes on when who asked for it has gone: what
// the audit line says must be what happened.
const reloadTime = 30 * time.Second

// operator serves what changes the gateway, or shows how it is set up.
type operator struct {
	access access
	log    *slog.Logger
	often  *rate.Limiter // refusals logged: whoever guesses tokens must not fill the disk
}

func newOperator(o *Options) *operator {
	op := &operator{access: access{token: o.Token}, log: o.Log, often: rate.NewLimiter(1, 5)}
	if op.log == nil {
		op.log = slog.New(slog.DiscardHandler)
	}
	return op
}

func (op *operator) register(mux *http.ServeMux, o *Options) {
	if o.Config != nil {
		mux.Handle("GET /admin/config", op.only(show(o.Config)))
	}
	if o.Reload != nil {
		mux.Handle("POST /admin/reload", op.only(op.change("reload", o.Reload)))
	}
}

// only lets operators through, and tells others why they are not.
func (op *operator) only(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		no := op.access.refuses(r)
		if no == nil {
			next.ServeHTTP(w, r)
			return
		}
		if op.often.Allow() {
			op.log.Warn("audit", "action", r.Method+" "+r.URL.Path, "peer", r.RemoteAddr, "result", "refused", "reason", no.Code)
		}
		no.write(w)
	})
}

// show answers with what write writes, whole or not at all.
func show(write func(io.Writer) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		var text bytes.Buffer
		if err := write(&text); err != nil {
			(&problem{Status: http.StatusInternalServerError, Code: "internal_server_error", Detail: err.Error()}).write(w)
			return
		}
		answer(w, http.StatusOK, "application/json", text.Bytes())
	})
}

// change does what is asked for, and leaves an audit line: who, what, and how it
// ended.
func (op *operator) change(action string, do func(context.Context) (any, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), reloadTime)
		defer cancel()
		did, err := do(ctx)
		if err != nil {
			op.log.Warn("audit", "action", action, "peer", r.RemoteAddr, "result", "failed", "error", err)
			(&problem{Status: http.StatusUnprocessableEntity, Code: "unprocessable_content", Detail: err.Error()}).write(w)
			return
		}
		text, err := json.Marshal(did)
		op.log.Info("audit", "action", action, "peer", r.RemoteAddr, "result", "ok", "did", string(text))
		if err != nil { // it was done all the same
			text = []byte("null")
		}
		answer(w, http.StatusOK, "application/json", append(text, '\n'))
	})
}

// problem is a refusal as RFC 9457 writes it.
type problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Code   string `json:"code"`
	Detail string `json:"detail"`
}

func (p *problem) write(w http.ResponseWriter) {
	p.Type, p.Title = "about:blank", http.StatusText(p.Status)
	if p.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer") // RFC 6750 section 3
	}
	text, _ := json.Marshal(p) // strings and numbers always encode
	answer(w, p.Status, "application/problem+json", append(text, '\n'))
}

func answer(w http.ResponseWriter, status int, contentType string, body []byte) {
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(body) // whoever asked may have gone
}
