package api

const (
	maxName = 64  // item, order number
	maxID   = 128 // user, biz_id
)

// ValidItem says that s can name an item: 1 to 64 of A-Z, a-z, 0-9, "_", "-".
func ValidItem(s string) bool { return validName(s, maxName) }

// ValidOrderID says that s can be an order's number: 1 to 64 of A-Z, a-z, 0-9,
// "_", "-".
func ValidOrderID(s string) bool { return validName(s, maxName) }

// ValidID says that s can be a user or a biz_id: 1 to 128 visible ASCII
// characters (RFC 5234, VCHAR), so that it is one thing in a header, in a URL
// and in every database collation.
func ValidID(s string) bool {
	if len(s) == 0 || len(s) > maxID {
		return false
	}
	for i := range len(s) {
		if s[i] < 0x21 || s[i] > 0x7e {
			return false
		}
	}
	return true
}

func validName(s string, longest int) bool {
	if len(s) == 0 || len(s) > longest {
		return false
	}
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_', c == '-':
		default:
			return false
		}
	}
	return true
}

// known says that a path is one of the contract's.
func (p Path) known() bool {
	return p == PathRedis || p == PathDB || p == PathQueue || p == PathRefuse
}

// known says that a code is one of the contract's.
func (c Code) known() bool {
	switch c {
	case SoldOut, Duplicate, Ended, NotStarted, Paused, OrderState, Failed:
		return true
	default: // the others name an error, not a refusal
		return false
	}
}

// known says that a state is one of the contract's.
func (s State) known() bool {
	switch s {
	case StateCreated, StatePaid, StateCancelled, StateExpired, StateRefused:
		return true
	}
	return false
}
