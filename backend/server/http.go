package server

import (
	"context"
	"fmt"
	"net/http"
	"runtime/debug"
	"time"

	"rushgate/backend/api"
)

// DefaultTimeout of HandlerOptions. It leaves [HTTPServer] time to write the
// answer.
const DefaultTimeout = 10 * time.Second

// HandlerOptions say what is served.
type HandlerOptions struct {
	Orders  api.Orders       // needed
	Keys    *api.Keys        // verify the tickets; needed
	Now     func() time.Time // judges whether a ticket has expired; nil: time.Now
	Timeout time.Duration    // of one call; a ticket that expires sooner ends it sooner; 0: DefaultTimeout
	// Report is told, from the goroutine of the request, of every panic and of
	// every error that is none of the contract's: faults of the program. nil:
	// nobody is.
	Report func(op string, err error)
}

// Handler serves the wire contract of package api. Tickets authenticate what
// takes units; the reads, pay and cancel believe the user that they are told.
// So its listener belongs on loopback or on a private network that only gateways
// reach, never on a public address.
//
// It panics without Orders or Keys.
func Handler(opt HandlerOptions) http.Handler {
	if opt.Orders == nil || opt.Keys == nil {
		panic("server.Handler: Orders and Keys are needed")
	}
	if opt.Now == nil {
		opt.Now = time.Now
	}
	if opt.Timeout <= 0 {
		opt.Timeout = DefaultTimeout
	}
	if opt.Report == nil {
		opt.Report = func(string, error) {}
	}
	h := &handler{opt: opt}
	mux := http.NewServeMux()
	for _, route := range []struct {
		pattern string
		to      endpoint
	}{
		{"POST " + api.PathOrders, endpoint{op: "place", writes: true, act: h.place}},
		{"POST " + api.PathRefusals, endpoint{op: "refuse", writes: true, act: h.refuse}},
		{"POST " + api.PathOrders + "/{id}/pay", endpoint{op: "pay", writes: true, act: h.pay}},
		{"POST " + api.PathOrders + "/{id}/cancel", endpoint{op: "cancel", writes: true, act: h.cancel}},
		{"GET " + api.PathOrders, endpoint{op: "find", act: h.find}},
		{"GET " + api.PathOrders + "/{id}", endpoint{op: "get", act: h.get}},
		{"GET " + api.PathCatalogue, endpoint{op: "catalogue", act: h.catalogue}},
	} {
		mux.Handle(route.pattern, h.serve(route.to))
	}
	return problemsFor(mux)
}

type handler struct{ opt HandlerOptions }

// endpoint is where a route leads.
type endpoint struct {
	op     string
	writes bool // may change something: an end that the contract doesn't know is an unknown outcome
	act    func(ctx context.Context, r *http.Request) (reply, error)
}

// serve runs an endpoint within the timeout and answers what came of it.
func (h *handler) serve(e endpoint) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), h.opt.Timeout)
		defer cancel()
		r.Body = http.MaxBytesReader(w, r.Body, api.MaxBody)
		rep, err := safely(ctx, r, e)
		if err != nil {
			rep = h.problem(e, err)
		}
		rep.send(w)
	})
}

// problem is where an error becomes an answer.
func (h *handler) problem(e endpoint, err error) reply {
	p, ok := api.ProblemOf(err)
	if ok {
		return problemReply(p)
	}
	h.opt.Report(e.op, err)
	if e.writes {
		return problemReply(api.NewProblem(http.StatusGatewayTimeout, api.CodeUnknown, ""))
	}
	return problemReply(statusProblem(http.StatusInternalServerError))
}

// safely turns a panic into an error that is none of the contract's: what was
// done before it is not known. Nothing has been written yet, since only send
// does that.
func safely(ctx context.Context, r *http.Request, e endpoint) (rep reply, err error) {
	defer func() {
		if v := recover(); v != nil {
			// Not wrapped even if v is an error: a panic proves nothing
			// about what was done.
			err = fmt.Errorf("panic: %v\n%s", v, debug.Stack())
		}
	}()
	return e.act(ctx, r)
}
