package proxy

import "strings"

// rule says what happens to a field of one name.
type rule uint16

const (
	dropRequest  rule = 1 << iota // not sent upstream
	dropResponse                  // not sent to the client
	guarded                       // a client may not name it in Connection, which would remove it
	isHost                        // the fields below are read by the gateway itself
	isLength
	isCoding
	isConnection
	isExpect
	isVia
	isMaxForwards

	hop     = dropRequest | dropResponse
	trusted = dropRequest | guarded // the gateway's own to say
	read    = isHost | isLength | isCoding | isConnection | isExpect | isVia | isMaxForwards
)

type namedRule struct {
	name string // lower case; a final '*' makes it a prefix
	rule rule
}

// rules is the whole policy on fields, in both directions. What is not named
// here is copied.
//
// An underscore in a field's name counts as a hyphen, because CGI, WSGI and PHP
// make one name of both: X_User_Id is dropped like X-User-Id.
var rules = []namedRule{
	// For one connection only (RFC 9110 section 7.6.1).
	{"connection", hop | isConnection},    // names the others; our connections are kept by our own rules
	{"keep-alive", hop},                   // how long this connection is kept
	{"proxy-connection", hop},             // an old mistake for Connection
	{"te", hop},                           // asks for trailers, which we drop
	{"trailer", hop},                      // announces them
	{"transfer-encoding", hop | isCoding}, // bodies are framed anew, by length
	{"upgrade", hop},                      // no tunnels: nothing is upgraded
	{"http2-settings", hop},               // goes with Upgrade: h2c
	{"proxy-authenticate", hop},           // between a client and its own proxy, which this is not
	{"proxy-authentication-info", hop},    // the same
	{"proxy-authorization", hop},          // the same, and a secret

	// Written anew, from what was decided here.
	{"content-length", hop | guarded | isLength}, // the length of the body as it was read
	{"host", dropRequest | guarded | isHost},     // the client's, once and first
	{"expect", dropRequest | guarded | isExpect}, // answered here, where the body is by now
	{"max-forwards", guarded | isMaxForwards},    // counted down for OPTIONS (RFC 9110 section 7.6.2)
	{"via", guarded | isVia},                     // kept, and ours added: it is what breaks loops

	// Who the client is and where it comes from: only the gateway says so.
	{"x-user-id", trusted},           // the identity itself
	{"x-forwarded-*", trusted},       // address, host and scheme
	{"forwarded", trusted},           // the same in RFC 7239
	{"x-real-ip", trusted},           // the address, as nginx says it
	{"x-client-ip", trusted},         // as Apache and Azure say it
	{"x-cluster-client-ip", trusted}, // as Rackspace and Riverbed say it
	{"true-client-ip", trusted},      // as Akamai says it
	{"cf-connecting-ip", trusted},    // as Cloudflare says it
	{"rushgate-*", trusted},          // tickets, and words between gateway and backend
	{"x-request-id", trusted},        // one id for the gateway's log and the upstream's
	{"traceparent", trusted},         // the gateway's span is the parent
	{"tracestate", trusted},          // belongs to the traceparent it came with

	// Understood by some frameworks in a way that undoes what was decided here.
	{"x-original-url", trusted}, // replaces the path that the route was decided on
	{"x-rewrite-url", trusted},  // the same
	{"proxy", dropRequest},      // becomes HTTP_PROXY in CGI programs ("httpoxy", CVE-2016-5385)

	// Copied, but not the client's to remove by naming them in Connection:
	// without them the request would be another one.
	{"authorization", guarded},    // an anonymous one
	{"cookie", guarded},           // the same
	{"content-type", guarded},     // with a body that says something else
	{"content-encoding", guarded}, // the same
	{"range", guarded},            // for the whole
	{"idempotency-key", guarded},  // one that is done twice
	{"origin", guarded},           // one that no page of another site has made
	{"cache-control", guarded},    // named as wrong in RFC 9110 section 7.6.1
}

// longestName is more than any row has, so a name cut there matches none by
// accident.
const longestName = 32

var rulesByName, rulesByPrefix = index(rules)

func index(rules []namedRule) (names map[string]rule, prefixes []namedRule) {
	names = make(map[string]rule, len(rules))
	for _, r := range rules {
		if p, ok := strings.CutSuffix(r.name, "*"); ok {
			prefixes = append(prefixes, namedRule{p, r.rule})
			continue
		}
		names[r.name] = r.rule
	}
	return names, prefixes
}

// ruleOf returns the rule of a field name in any case. A name with an
// underscore falls under the rule of its hyphened twin but is never read as it.
func ruleOf(name []byte) rule {
	var folded [longestName]byte
	n, underscored := copy(folded[:], name), false
	for i, c := range folded[:n] {
		switch {
		case c == '_':
			folded[i], underscored = '-', true
		case 'A' <= c && c <= 'Z':
			folded[i] = c + ('a' - 'A')
		}
	}
	r := lookUp(folded[:n])
	if underscored {
		r &^= read
	}
	return r
}

func lookUp(name []byte) rule {
	if r, ok := rulesByName[string(name)]; ok {
		return r
	}
	for i := range rulesByPrefix {
		if p := &rulesByPrefix[i]; len(name) >= len(p.name) && string(name[:len(p.name)]) == p.name {
			return p.rule
		}
	}
	return 0
}
