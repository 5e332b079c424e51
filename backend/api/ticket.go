package api

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"
)

const (
	ticketVersion = "v1"
	maxTicket     = 2 << 10 // bytes of a signed ticket; the longest legal one has about 1000
	minSecret     = 32      // bytes; a key shorter than the digest weakens an HMAC (RFC 2104, section 3)
	maxKeyID      = 32
)

var (
	// ErrTicketInvalid: the ticket is forged, garbled, or signed with a key that
	// is not known here. Nothing was done: it wraps ErrFailed.
	ErrTicketInvalid = fmt.Errorf("ticket not valid: %w", ErrFailed)
	// ErrTicketExpired: the ticket is genuine and came too late. Nothing was
	// done: it wraps ErrFailed.
	ErrTicketExpired = fmt.Errorf("ticket expired: %w", ErrFailed)
)

// Key is a secret that the gateway and the backend share.
type Key struct {
	ID     string `json:"id"` // 1 to 32 of A-Z, a-z, 0-9, "_", "-"; travels in the ticket
	Secret []byte `json:"-"`  // 32 bytes or more
}

// String names the key and keeps its secret.
func (k Key) String() string { return "key " + k.ID }

// GoString is String, for %#v.
func (k Key) GoString() string { return k.String() }

// Keys signs and verifies tickets. Safe for concurrent use.
//
// To rotate a secret without losing a ticket that is under way, [Keys.Replace]
// them three times, each time first where tickets are verified and then where
// they are signed: with keys that verify both, with keys that sign with the new,
// and, a ticket's window later, with the new alone.
type Keys struct {
	ring atomic.Pointer[ring] // replaced, never changed
}

// ring is one set of keys.
type ring struct {
	signer  string // id
	secrets map[string][]byte
}

func newKeys(r *ring) *Keys {
	k := &Keys{}
	k.ring.Store(r)
	return k
}

// Replace puts the keys of next in force, for whoever holds k, from the next
// Sign and Verify on. A ticket that was signed before still verifies if its key
// is among them.
func (k *Keys) Replace(next *Keys) { k.ring.Store(next.ring.Load()) }

// NewKeys returns Keys that sign with the first key and verify with all. It
// keeps copies of the secrets.
func NewKeys(keys []Key) (*Keys, error) {
	if len(keys) == 0 {
		return nil, errors.New("no ticket key: give one, the same to gateway and backend")
	}
	r := &ring{signer: keys[0].ID, secrets: make(map[string][]byte, len(keys))}
	for _, key := range keys {
		switch {
		case !validName(key.ID, maxKeyID):
			return nil, fmt.Errorf("ticket key id %.40q: want 1 to %d of A-Z, a-z, 0-9, _, -", key.ID, maxKeyID)
		case len(key.Secret) < minSecret:
			return nil, fmt.Errorf("ticket key %q: the secret has %d bytes, want %d or more", key.ID, len(key.Secret), minSecret)
		case r.secrets[key.ID] != nil:
			return nil, fmt.Errorf("ticket key %q is there twice: give each its own id", key.ID)
		}
		r.secrets[key.ID] = bytes.Clone(key.Secret)
	}
	return newKeys(r), nil
}

// RandomKeys returns Keys with one secret that nobody else knows: for a gateway
// and a backend in one process.
func RandomKeys() *Keys {
	secret := make([]byte, minSecret)
	_, _ = rand.Read(secret) // never fails: it ends the program instead
	return newKeys(&ring{signer: "random", secrets: map[string][]byte{"random": secret}})
}

// String names the signing key and keeps the secrets.
func (k *Keys) String() string { return "keys signing with " + k.ring.Load().signer }

// GoString is String, for %#v.
func (k *Keys) GoString() string { return k.String() }

// Sign returns the header value that carries t:
//
//	v1.<key id>.<base64url(JSON)>.<base64url(HMAC-SHA256)>
//
// base64url without padding (RFC 4648, section 5), the HMAC over all before the
// last dot. Whether t is legal is for Verify to say.
func (k *Keys) Sign(t Ticket) string {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false) // a user of 128 "<" would outgrow maxTicket
	_ = enc.Encode(t)        // strings and numbers always encode
	payload := base64.RawURLEncoding.EncodeToString(bytes.TrimSuffix(text.Bytes(), []byte("\n")))
	r := k.ring.Load()
	head := ticketVersion + "." + r.signer + "." + payload
	return head + "." + mac(r.secrets[r.signer], head)
}

// Verify returns the ticket that header carries. The error wraps
// ErrTicketInvalid, or ErrTicketExpired if now has reached the ticket's Exp.
// Nothing is decoded before the signature holds.
func (k *Keys) Verify(header string, now time.Time) (Ticket, error) {
	payload, err := k.ring.Load().authentic(header)
	if err != nil {
		return Ticket{}, fmt.Errorf("%w: %w", ErrTicketInvalid, err)
	}
	t, err := decodeTicket(payload)
	if err != nil {
		return Ticket{}, fmt.Errorf("%w: %w", ErrTicketInvalid, err)
	}
	if late := now.UnixMilli() - t.Exp; late >= 0 {
		return Ticket{}, fmt.Errorf("%w %d ms ago", ErrTicketExpired, late)
	}
	return t, nil
}

// authentic returns the payload of a header that one of the keys has signed.
func (r *ring) authentic(header string) (payload string, err error) {
	if len(header) > maxTicket {
		return "", fmt.Errorf("longer than %d bytes", maxTicket)
	}
	dot := strings.LastIndexByte(header, '.')
	if dot < 0 {
		return "", errors.New("not of the form version.key.payload.signature")
	}
	head, sum := header[:dot], header[dot+1:]
	version, rest, _ := strings.Cut(head, ".")
	id, payload, _ := strings.Cut(rest, ".")
	if version != ticketVersion {
		return "", fmt.Errorf("its version is not %s", ticketVersion)
	}
	secret, ok := r.secrets[id]
	if !ok {
		return "", fmt.Errorf("key id %.32q is not known", id)
	}
	// The texts are compared, not what they decode to: base64 has several
	// texts for one value.
	if !hmac.Equal([]byte(sum), []byte(mac(secret, head))) {
		return "", errors.New("the signature does not fit")
	}
	return payload, nil
}

func decodeTicket(payload string) (Ticket, error) {
	text, err := base64.RawURLEncoding.DecodeString(payload)
	if err != nil {
		return Ticket{}, err
	}
	var t Ticket
	if err := DecodeStrict(text, &t); err != nil {
		return Ticket{}, err
	}
	return t, t.validate()
}

// validate says what makes a ticket illegal whoever has signed it.
func (t Ticket) validate() error {
	switch {
	case !ValidItem(t.Item):
		return errors.New("item: want 1 to 64 of A-Z, a-z, 0-9, _, -")
	case !ValidID(t.User):
		return errors.New("user: want 1 to 128 visible ASCII characters")
	case !ValidID(t.BizID):
		return errors.New("biz_id: want 1 to 128 visible ASCII characters")
	case t.Qty < 1:
		return errors.New("qty: want 1 or more")
	case t.Epoch < 0:
		return errors.New("epoch: want 0 or more")
	case !t.Path.known():
		return errors.New("path: want redis, db, queue or refuse")
	case t.Exp < 1:
		return errors.New("exp: want Unix milliseconds")
	}
	return nil
}

// mac returns the HMAC-SHA256 (RFC 2104) of text, in base64url.
func mac(secret []byte, text string) string {
	h := hmac.New(sha256.New, secret)
	h.Write([]byte(text))
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil))
}
