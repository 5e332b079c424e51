package server

import (
	"bytes"
	"errors"

	"rushgate/gateway/identity"
)

// readPurchase reads the key, the mark of a repeat and the quantity.
func readPurchase(x *exchange) bool {
	value, n := x.head.Get("Idempotency-Key")
	if n > 1 {
		return x.bad("Send one Idempotency-Key.")
	}
	bizID, err := identity.ParseKey(value)
	switch {
	case errors.Is(err, identity.ErrKeyMissing):
		return x.no("idempotency_key_missing")
	case err != nil:
		return x.bad(err.Error())
	}
	x.bizID = bizID
	switch value, n := x.head.Get("Rushgate-Retry"); {
	case n == 0, n == 1 && string(value) == "0":
	case n == 1 && string(value) == "1":
		x.repeat = true
	default:
		return x.bad("Rushgate-Retry is 1 on a request that repeats a key, and absent otherwise.")
	}
	var ok bool
	if x.qty, ok = parseQty(x.ctx.Request.Body()); !ok {
		return x.bad(`The body is empty, or {"qty": n} with a whole number from 1 to 1000000.`)
	}
	return true
}

// maxQty bounds a quantity far above any per_user, so that no sum overflows.
const (
	maxQty       = 1_000_000
	maxQtyDigits = 7
)

// parseQty reads the optional body {"qty": n}. It takes one spelling of it and
// nothing beside it: a field that is there twice, or a number that is rounded,
// would be one quantity here and another to the next reader.
func parseQty(body []byte) (qty int, ok bool) {
	if len(body) == 0 {
		return 1, true
	}
	rest, ok := cutToken(body, "{")
	if !ok {
		return 0, false
	}
	if end, ok := cutToken(rest, "}"); ok {
		return 1, len(trimJSON(end)) == 0
	}
	for _, token := range [...]string{`"qty"`, ":"} {
		if rest, ok = cutToken(rest, token); !ok {
			return 0, false
		}
	}
	qty, rest = cutNumber(trimJSON(rest))
	rest, ok = cutToken(rest, "}")
	return qty, ok && qty >= 1 && qty <= maxQty && len(trimJSON(rest)) == 0
}

// cutNumber takes a number of up to maxQtyDigits digits off b; 0 for none.
func cutNumber(b []byte) (n int, rest []byte) {
	i := 0
	for ; i < len(b) && i < maxQtyDigits && b[i] >= '0' && b[i] <= '9'; i++ {
		n = n*10 + int(b[i]-'0')
	}
	if i > 0 && b[0] == '0' { // JSON has no leading zeros, and 0 is none either
		return 0, nil
	}
	return n, b[i:]
}

func cutToken(b []byte, token string) (rest []byte, ok bool) {
	return bytes.CutPrefix(trimJSON(b), []byte(token))
}

// trimJSON cuts leading whitespace of JSON (RFC 8259 section 2).
func trimJSON(b []byte) []byte { return bytes.TrimLeft(b, " \t\r\n") }
