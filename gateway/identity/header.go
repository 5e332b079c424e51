package identity

import (
	"errors"
	"net/netip"

	"github.com/gaissmai/bart"
)

// Reasons for not knowing a user.
var (
	// ErrUnauthenticated: nobody whose word counts has said who this is. The
	// client has to sign in.
	ErrUnauthenticated = errors.New("no trusted peer says who the user is: sign in and send the request through the shop")
	// ErrBadIdentity: a trusted peer has said who this is in a way that can't
	// be used. The shop has to mend what it sends.
	ErrBadIdentity = errors.New("X-User-Id must come once, with 1 to 128 visible ASCII characters other than , ; \" and \\")
)

// maxUser is the longest user id, in bytes. It is the gateway's own bound: long
// enough for e-mail addresses and the ids of identity providers, short enough to
// be a key in every store.
const maxUser = 128

// Header reads the user from X-User-Id, for shops that sign their users in
// before the gateway.
type Header struct {
	trusted bart.Lite
}

// NewHeader returns a reader that believes peers within these prefixes. "Peer" is
// the other end of the TCP connection, never an address from X-Forwarded-For:
// the header was written by whoever is connected.
func NewHeader(trusted []netip.Prefix) *Header {
	h := &Header{}
	for _, prefix := range trusted {
		h.trusted.Insert(plainPrefix(prefix))
	}
	return h
}

// User returns the user id of a request. n is how many X-User-Id lines the
// request has, and value the value of the first.
//
// The error is ErrUnauthenticated if the peer isn't trusted, whatever it sent,
// or if there is no id (no line, or an empty one, which is how some proxies
// write "nobody"). It is ErrBadIdentity if there is more than one line, since the
// client may have sent one of them, or if the id isn't 1 to 128 visible ASCII
// characters. Of those, comma, semicolon, double quote and backslash are
// excluded: with them, two values that a proxy has joined into one, or a
// parameter, would pass for an id. Names in other scripts come percent-encoded.
func (h *Header) User(peer netip.Addr, value []byte, n int) ([]byte, error) {
	if n < 1 || !h.trusted.Contains(plain(peer)) {
		return nil, ErrUnauthenticated
	}
	if n > 1 {
		return nil, ErrBadIdentity
	}
	user := trimSpace(value)
	if len(user) == 0 {
		return nil, ErrUnauthenticated
	}
	if len(user) > maxUser || !all(user, isUserByte) {
		return nil, ErrBadIdentity
	}
	return user, nil
}

func isUserByte(c byte) bool {
	switch c {
	case ',', ';', '"', '\\':
		return false
	}
	return c > ' ' && c < 0x7f
}

func all(s []byte, ok func(byte) bool) bool {
	for _, c := range s {
		if !ok(c) {
			return false
		}
	}
	return true
}
