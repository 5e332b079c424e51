package identity

import "errors"

// Reasons for not having a key.
var (
	// ErrKeyMissing: the request has no Idempotency-Key.
	ErrKeyMissing = errors.New("send an Idempotency-Key, a new one for each purchase and the same one when asking again; a UUIDv7 is best")
	// ErrKeyMalformed: the Idempotency-Key can't be used.
	ErrKeyMalformed = errors.New("Idempotency-Key must be 1 to 128 of A-Z a-z 0-9 . _ : ~ -, quoted or not; a UUIDv7 is best")
)

// maxKey is the longest key, in bytes: the gateway's own bound.
const maxKey = 128

// ParseKey reads the value of an Idempotency-Key field: a String of structured
// fields, "8e03978e-40d5-43dd-bc93-6894a57f9324" in its quotes (RFC 9651,
// section 3.3.3; draft-ietf-httpapi-idempotency-key-header-07), or the same
// without quotes, as many clients send it. Both are the same key.
//
// A key is 1 to 128 of the letters, digits and . _ ~ - that stand in a URL as
// they are (RFC 3986, section 2.3), and the colon, which may stand in a query.
// So it comes back unchanged in a Location or a link, whoever builds it. UUIDs,
// ULIDs and keys such as "user:42:item:7" fit. Anything else is ErrKeyMalformed:
// two keys joined by a comma, parameters after the string, one quote. An empty
// value is ErrKeyMissing.
func ParseKey(value []byte) ([]byte, error) {
	value = trimSpace(value)
	if len(value) == 0 {
		return nil, ErrKeyMissing
	}
	key := unquote(value)
	if len(key) == 0 || len(key) > maxKey || !all(key, isKeyByte) {
		return nil, ErrKeyMalformed
	}
	return key, nil
}

func isKeyByte(c byte) bool {
	switch {
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		return true
	}
	switch c {
	case '.', '_', ':', '~', '-':
		return true
	}
	return false
}
