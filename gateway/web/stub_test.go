package web

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// stub is a gateway that speaks the public contract and answers what a test
// tells it to. Everything it hears goes into channels, so that tests wait for
// requests and not for time.
type stub struct {
	t      testing.TB
	server *httptest.Server
	prefix string
	skew   time.Duration // its clock is ahead of this machine's by so much

	posts  chan request // purchases, as they arrive
	others chan request // other calls on orders
	marks  chan mark    // what the page said by /mark
	times  chan int     // number of each /time that was answered

	mu       sync.Mutex
	items    []saleItem
	purchase []http.HandlerFunc          // answers to purchases in turn; the last one stays
	orders   map[string]http.HandlerFunc // by "METHOD path?query", without the prefix
	delay    func(n int, sent bool)      // runs in the n-th /time before its t1 (false) and after its t2
	asked    int                         // how many /time there were
}

// saleItem is one line of GET /items.
type saleItem struct {
	Item       string `json:"item"`
	Title      string `json:"title"`
	PriceCents int64  `json:"price_cents"`
	StartsAt   int64  `json:"starts_at"`
	EndsAt     int64  `json:"ends_at"`
	State      string `json:"state"`
	PerUser    int    `json:"per_user"`
	Mode       string `json:"mode"`
}

// request is what matters of one that arrived.
type request struct {
	At                          int64 // by the stub's clock, Unix milliseconds
	Method, Path                string
	Key, Retry, User, Body, CTy string
}

// mark is a word from the page, with the stub's time of its arrival.
type mark struct {
	At   int64
	Word string
}

func newStub(t testing.TB, prefix string) *stub {
	t.Helper()
	s := &stub{
		t: t, prefix: prefix,
		posts: make(chan request, 1000), others: make(chan request, 1000),
		marks: make(chan mark, 1000), times: make(chan int, 1000),
		orders: map[string]http.HandlerFunc{},
		delay:  func(int, bool) {},
	}
	s.server = httptest.NewServer(http.StripPrefix(prefix, s.routes()))
	t.Cleanup(func() {
		// A request that is held by a test ends when its browser is gone; don't wait for it.
		s.server.CloseClientConnections()
		s.server.Close()
	})
	return s
}

func (s *stub) routes() http.Handler {
	mux := http.NewServeMux()
	for at, file := range Files(s.prefix) {
		if file.Location != "" {
			continue
		}
		pattern := "GET " + strings.TrimPrefix(at, s.prefix)
		if strings.HasSuffix(pattern, "/") {
			pattern += "{$}"
		}
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) { write(w, file.Serve(r.Header.Get("If-None-Match"))) })
	}
	mux.HandleFunc("GET /blank", answer(200, "text/html", "<!doctype html><title>blank</title><p id=a></p><p id=b></p>"))
	mux.HandleFunc("GET /time", s.serveTime)
	mux.HandleFunc("GET /items", s.serveItems)
	mux.HandleFunc("POST /seckill/{item}", s.servePurchase)
	mux.HandleFunc("/orders", s.serveOrders)
	mux.HandleFunc("/orders/", s.serveOrders)
	mux.HandleFunc("POST /mark", s.serveMark)
	return mux
}

func write(w http.ResponseWriter, r Response) {
	for _, f := range r.Header {
		w.Header().Set(f.Name, f.Value)
	}
	w.WriteHeader(r.Status)
	_, _ = w.Write(r.Body)
}

// freshConnections takes a new one for every request. Browsers silently send a
// request anew, a POST too, when a connection they kept is closed under it or
// answers it with 408; tests that count requests must not see those.
func (s *stub) freshConnections() { s.server.Config.SetKeepAlivesEnabled(false) }

// now is the stub's clock.
func (s *stub) now() time.Time { return time.Now().Add(s.skew) }

func (s *stub) url(path string) string { return s.server.URL + s.prefix + path }

func (s *stub) serveTime(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	n := s.asked
	s.asked++
	delay := s.delay
	s.mu.Unlock()
	delay(n, false)
	t1 := s.now()
	t2 := s.now()
	delay(n, true)
	reply(w, 200, map[string]any{"now": t2.UnixMilli(), "t1": t1.UnixMicro(), "t2": t2.UnixMicro(), "source": "local"})
	s.times <- n
}

func (s *stub) serveItems(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	reply(w, 200, map[string]any{"now": s.now().UnixMilli(), "items": s.items})
}

func (s *stub) servePurchase(w http.ResponseWriter, r *http.Request) {
	s.posts <- s.hear(r)
	s.mu.Lock()
	next := s.purchase[0]
	if len(s.purchase) > 1 {
		s.purchase = s.purchase[1:]
	}
	s.mu.Unlock()
	next(w, r)
}

func (s *stub) serveOrders(w http.ResponseWriter, r *http.Request) {
	heard := s.hear(r)
	s.mu.Lock()
	next := s.orders[r.Method+" "+r.URL.RequestURI()]
	s.mu.Unlock()
	if next == nil {
		next = refuse(404, "no_such_order", nil)
	}
	next(w, r)
	s.others <- heard
}

func (s *stub) serveMark(w http.ResponseWriter, r *http.Request) {
	at := s.now().UnixMilli()
	word, _ := io.ReadAll(r.Body)
	s.marks <- mark{at, string(word)}
	w.WriteHeader(204)
}

func (s *stub) hear(r *http.Request) request {
	at := s.now().UnixMilli()
	body, _ := io.ReadAll(r.Body)
	return request{
		At: at, Method: r.Method, Path: r.URL.RequestURI(), Key: r.Header.Get("Idempotency-Key"), Retry: r.Header.Get("Rushgate-Retry"),
		User: r.Header.Get("X-User-Id"), Body: string(body), CTy: r.Header.Get("Content-Type"),
	}
}

// sell puts items on the list.
func (s *stub) sell(items ...saleItem) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.items = items
}

// script sets the answers to the purchases that follow; the last one stays.
func (s *stub) script(answers ...http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.purchase = answers
}

// on sets the answer to one call on orders, "GET /orders/1".
func (s *stub) on(call string, h http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.orders[call] = h
}

// openItem is a sale that has begun and goes on for an hour.
func (s *stub) openItem(id string) saleItem {
	now := s.now().UnixMilli()
	return saleItem{Item: id, Title: "Item " + id, PriceCents: 123450, StartsAt: now - 60_000, EndsAt: now + 3_600_000, State: "open", PerUser: 1, Mode: "sync"}
}

// order is an order of the user of a request.
func (s *stub) order(id, state string) map[string]any {
	now := s.now().UnixMilli()
	return map[string]any{
		"order_id": id, "biz_id": "b", "item": "1001", "user": "u", "qty": 1, "amount_cents": 123450,
		"state": state, "created_at": now, "pay_by": now + 900_000,
	}
}

func reply(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

// answer answers every request alike. Its body is sent as it is where it is a
// string, else as JSON.
func answer(status int, contentType string, body any) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		text, plain := body.(string)
		if !plain {
			reply(w, status, body)
			return
		}
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text)
	}
}

// made answers with an order.
func made(order map[string]any) http.HandlerFunc { return answer(201, "", order) }

// refuse answers with a problem; more adds to its members, and retry_after_ms
// becomes the header as well.
func refuse(status int, code string, more map[string]any) http.HandlerFunc {
	problem := map[string]any{"type": "about:blank", "status": status, "code": code, "trace_id": "t"}
	maps.Copy(problem, more)
	return func(w http.ResponseWriter, _ *http.Request) {
		if ms, ok := problem["retry_after_ms"].(int); ok {
			w.Header().Set("Retry-After", strconv.Itoa((ms+999)/1000))
		}
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(problem)
	}
}

// hangUp closes the connection without a word.
func hangUp(w http.ResponseWriter, _ *http.Request) {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err == nil {
		_ = conn.Close()
	}
}

// cutShort answers with a success whose body never comes to its end.
func cutShort(w http.ResponseWriter, _ *http.Request) {
	conn, buf, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	_, _ = buf.WriteString("HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nContent-Length: 400\r\n\r\n{\"order_id\":\"77")
	_ = buf.Flush()
	_ = conn.Close()
}

// hold answers nothing until the client gives up.
func hold(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
