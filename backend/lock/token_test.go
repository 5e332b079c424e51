package lock

import (
	"testing"
)

// The token is what tells holders apart: one for each lock, of 128 bits of chance or
// more, which 26 letters of 32 are.
func TestTokenGuessedOrUsedTwice(t *testing.T) {
	t.Parallel()
	s := start(t)
	const locks = 200
	seen := make(map[string]bool)
	letters := make(map[int]map[byte]bool) // by place
	for _, r := range []*Redis{overRedis(t, s), overRedis(t, s)} {
		for range locks {
			h, _, unlock := mustLock(t, r, "1001")
			token := h.claim.token
			mustUnlock(t, unlock)
			if seen[token] || len(token) < 26 {
				t.Fatalf("the token %q was used before, or is too short", token)
			}
			seen[token] = true
			for i := range len(token) {
				if letters[i] == nil {
					letters[i] = make(map[byte]bool)
				}
				letters[i][token[i]] = true
			}
		}
	}
	for i, there := range letters {
		if len(there) < 16 { // of 32: as unlikely as a guess
			t.Errorf("place %d holds only %d letters", i, len(there))
		}
	}
}
