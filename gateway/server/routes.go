package server

import (
	"bytes"
	"slices"
	"strings"

	"github.com/valyala/fasthttp"

	"rushgate/gateway/proxy"
)

// route is what one kind of request goes through.
type route struct {
	name    string   // label of the metrics
	methods []string // as Allow lists them; none for any
	stages  []stage
}

var (
	reads  = []string{"GET", "HEAD"}
	writes = []string{"POST"}
)

// routes are the lists of stages. Whoever asks "is the blacklist read before the
// limit?" finds the answer here. Cheap and narrow stages come first: nothing
// that refuses touches the network, and a flood by one address or user is
// refused before it spends what all share.
type routes struct {
	page, module, time, items, item, purchase, orders, order, change, proxied route
}

// first runs before the route is known.
func first() []stage {
	return []stage{
		{"trace", trace},
		{"head", readHead},
		{"route", findRoute},
	}
}

func newRoutes() routes {
	return routes{
		page:   route{"page", reads, []stage{{"page", answerPage}}},
		module: route{"module", reads, []stage{{"module", answerPage}}},
		time: route{"time", reads, []stage{
			{"address_list", addressList},
			{"time", answerTime},
		}},
		items: route{"items", reads, []stage{
			{"address_list", addressList},
			{"ip_limit", ipLimit},
			{"items", answerItems},
		}},
		item: route{"item", reads, []stage{
			{"address_list", addressList},
			{"ip_limit", ipLimit},
			{"item", findSale},
			{"items", answerItem},
		}},
		purchase: route{"purchase", writes, []stage{
			{"address_list", addressList},
			{"ip_limit", ipLimit},
			{"item", findSale},
			{"form", readPurchase},
			{"not_started", notStarted},
			{"sold_out", soldOut},
			{"identity", identify},
			{"user_list", userList},
			{"user_limit", userLimit},
			{"item_limit", itemLimit},
			{"global_limit", globalLimit},
			{"admit", buy},
		}},
		orders: route{"orders", reads, []stage{
			{"address_list", addressList},
			{"ip_limit", ipLimit},
			{"identity", identify},
			{"user_list", userList},
			{"user_limit", userLimit},
			{"orders", findOrder},
		}},
		order: route{"order", reads, []stage{
			{"address_list", addressList},
			{"ip_limit", ipLimit},
			{"identity", identify},
			{"user_list", userList},
			{"user_limit", userLimit},
			{"orders", getOrder},
		}},
		change: route{"order_change", writes, []stage{
			{"address_list", addressList},
			{"ip_limit", ipLimit},
			{"identity", identify},
			{"user_list", userList},
			{"user_limit", userLimit},
			{"orders", changeOrder},
		}},
		proxied: route{"proxied", nil, []stage{
			{"address_list", addressList},
			{"ip_limit", ipLimit},
			{"identity", identifyIfAny},
			{"user_list", userList},
			{"global_limit", globalLimit},
			{"forward", forward},
		}},
	}
}

// findRoute decides by the path as it was sent, which is also what an upstream
// would get.
func findRoute(x *exchange) bool {
	s := x.s
	path := x.head.Path()
	x.route = s.match(x, path)
	if x.route == nil {
		x.route = &s.unrouted
		return x.no("no_route")
	}
	if methods := x.route.methods; methods != nil && !slices.Contains(methods, string(x.head.Method())) {
		return x.refuse(&refusal{code: "method_not_allowed", allow: strings.Join(methods, ", ")})
	}
	return true
}

// match returns the route of a path, nil for none, and leaves in x.arg what the
// path names.
func (s *Server) match(x *exchange, path []byte) *route {
	if own, ok := bytes.CutPrefix(path, s.prefix); ok {
		if r := s.matchOwn(x, own); r != nil {
			return r
		}
	}
	if upstream, ok := x.policy.router.Match(path); ok {
		x.upstream = upstream
		return &s.routes.proxied
	}
	return nil
}

func (s *Server) matchOwn(x *exchange, path []byte) *route {
	switch string(path) {
	case "/", "":
		return &s.routes.page
	case "/time":
		return &s.routes.time
	case "/items":
		return &s.routes.items
	case "/orders":
		return &s.routes.orders
	}
	dir, name, action := segments(path)
	x.arg = name
	switch {
	case string(dir) == "_rushgate":
		return &s.routes.module
	case len(name) == 0:
		return nil
	case string(dir) == "seckill" && action == nil:
		return &s.routes.purchase
	case string(dir) == "items" && action == nil:
		return &s.routes.item
	case string(dir) == "orders" && action == nil:
		return &s.routes.order
	case string(dir) == "orders" && (string(action) == "pay" || string(action) == "cancel"):
		return &s.routes.change
	}
	return nil
}

// segments splits "/dir/name/action"; action is nil where there is none.
func segments(path []byte) (dir, name, action []byte) {
	if len(path) == 0 || path[0] != '/' {
		return nil, nil, nil
	}
	dir, rest, _ := bytes.Cut(path[1:], []byte("/"))
	name, action, ok := bytes.Cut(rest, []byte("/"))
	if ok && action == nil {
		action = []byte{}
	}
	return dir, name, action
}

func readHead(x *exchange) bool {
	if fault := x.head.Read(&x.ctx.Request.Header, x.policy.fields); fault != nil {
		return x.fault(fault)
	}
	x.adopt()
	x.peer = peerOf(x.ctx)
	x.forwarded = slices.AppendSeq(x.forwarded[:0], x.head.All("X-Forwarded-For"))
	x.client = x.policy.proxies.Client(x.peer, x.forwarded)
	return true
}

// fault refuses a request for what it is, and its connection with it.
func (x *exchange) fault(f *proxy.Fault) bool {
	r := refusal{code: f.Code, status: f.Status, detail: f.Detail, close: true}
	if f.Status == fasthttp.StatusMethodNotAllowed {
		r.allow = proxy.Allow
	}
	return x.refuse(&r)
}

// unreadable answers a request that never became one. Its time was not taken.
func (s *Server) unreadable(ctx *fasthttp.RequestCtx, f *proxy.Fault) {
	x := exchange{s: s, policy: s.policy.Load(), ctx: ctx, route: &s.unrouted, stage: "head", at: s.now()}
	trace(&x)
	x.fault(f)
	s.meter.answered(&x)
}
