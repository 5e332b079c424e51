package server

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"rushgate/backend/api"
)

// reply is an answer before it is written.
type reply struct {
	status  int
	body    any // nil for none
	problem bool
	etag    string // as in the header; "" for none
	allow   string // of a 405
}

func orderReply(status int, o api.Order) reply { return reply{status: status, body: o} }

func catalogueReply(cat api.Catalogue) reply {
	if cat.Sales == nil {
		cat.Sales = []api.Sale{} // null would say that the sales aren't known
	}
	return reply{status: http.StatusOK, body: cat, etag: quoteETag(cat.ETag)}
}

func problemReply(p api.Problem) reply { return reply{status: p.Status, body: p, problem: true} }

// statusProblem is a problem that HTTP itself has a word for: the status'
// phrase in snake_case.
func statusProblem(status int) api.Problem {
	return api.NewProblem(status, api.Code(strings.ReplaceAll(strings.ToLower(http.StatusText(status)), " ", "_")), "")
}

func (rep reply) send(w http.ResponseWriter) {
	head := w.Header()
	head.Set("Cache-Control", "no-store")
	if rep.etag != "" {
		head.Set("ETag", rep.etag)
		head.Set("Cache-Control", "no-cache")
	}
	if rep.allow != "" {
		head.Set("Allow", rep.allow)
	}
	if rep.status == http.StatusServiceUnavailable {
		head.Set("Retry-After", "1")
	}
	if rep.body == nil {
		w.WriteHeader(rep.status)
		return
	}
	head.Set("Content-Type", "application/json")
	if rep.problem {
		head.Set("Content-Type", api.ContentTypeProblem)
	}
	text, _ := json.Marshal(rep.body) // strings and numbers always encode
	head.Set("Content-Length", strconv.Itoa(len(text)))
	w.WriteHeader(rep.status)
	_, _ = w.Write(text) // who is gone doesn't read the error either
}

// problemsFor serves mux, and answers what it has no route for as everything
// else is answered.
func problemsFor(mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fallback, pattern := mux.Handler(r)
		if pattern != "" {
			mux.ServeHTTP(w, r)
			return
		}
		var head headOnly
		fallback.ServeHTTP(&head, r)
		if head.status == http.StatusMethodNotAllowed {
			rep := problemReply(statusProblem(head.status))
			rep.allow = head.Header().Get("Allow")
			rep.send(w)
			return
		}
		problemReply(api.NewProblem(http.StatusNotFound, "no_route", "")).send(w)
	})
}

// headOnly is a ResponseWriter that keeps the status and the fields.
type headOnly struct {
	header http.Header
	status int
}

func (h *headOnly) Header() http.Header {
	if h.header == nil {
		h.header = make(http.Header)
	}
	return h.header
}

func (h *headOnly) WriteHeader(status int) { h.status = status }

func (h *headOnly) Write(p []byte) (int, error) { return len(p), nil }

// quoteETag makes an entity tag (RFC 9110, section 8.8.3). A text that can't be
// one makes none: readers then get the whole catalogue each time.
func quoteETag(text string) string {
	for i := range len(text) {
		if c := text[i]; c < 0x21 || c == '"' || c > 0x7e {
			return ""
		}
	}
	if text == "" {
		return ""
	}
	return `"` + text + `"`
}

// unquoteETag returns the text of an If-None-Match that holds one entity tag,
// compared weakly (RFC 9110, section 13.1.2); "" for a list or a star, which
// makes the answer whole and so never wrong.
func unquoteETag(field string) string {
	tag := strings.TrimPrefix(strings.TrimSpace(field), "W/")
	text := strings.TrimSuffix(strings.TrimPrefix(tag, `"`), `"`)
	if quoteETag(text) != tag {
		return ""
	}
	return text
}
