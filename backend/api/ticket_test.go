package api_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"rushgate/backend/api"
)

var (
	now     = time.UnixMilli(1_800_000_000_000)
	secretA = bytes.Repeat([]byte{'a'}, 32)
	secretB = bytes.Repeat([]byte{'b'}, 32)
)

// newKeys is NewKeys for keys that are good.
func newKeys(t testing.TB, keys ...api.Key) *api.Keys {
	t.Helper()
	k, err := api.NewKeys(keys)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func aTicket() api.Ticket {
	return api.Ticket{
		Item: "1001", User: "u-7", BizID: "biz-1", Qty: 1, Epoch: 3,
		Path: api.PathRedis, Exp: now.Add(3 * time.Second).UnixMilli(),
	}
}

func anyTicket() *rapid.Generator[api.Ticket] {
	id := rapid.StringMatching(`[!-~]{1,128}`)
	return rapid.Custom(func(r *rapid.T) api.Ticket {
		return api.Ticket{
			Item:  rapid.StringMatching(`[A-Za-z0-9_-]{1,64}`).Draw(r, "item"),
			User:  id.Draw(r, "user"),
			BizID: id.Draw(r, "biz_id"),
			Qty:   rapid.IntRange(1, math.MaxInt).Draw(r, "qty"),
			Epoch: rapid.Int64Range(0, math.MaxInt64).Draw(r, "epoch"),
			Path:  rapid.SampledFrom([]api.Path{api.PathRedis, api.PathDB, api.PathQueue, api.PathRefuse}).Draw(r, "path"),
			Exp:   rapid.Int64Range(now.UnixMilli()+1, math.MaxInt64).Draw(r, "exp"),
		}
	})
}

func TestEveryLegalTicketComesThrough(t *testing.T) {
	t.Parallel()
	keys := newKeys(t, api.Key{ID: "k1", Secret: secretA})
	rapid.Check(t, func(r *rapid.T) {
		want := anyTicket().Draw(r, "ticket")
		got, err := keys.Verify(keys.Sign(want), now)
		if err != nil {
			r.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			r.Fatal(diff)
		}
	})
}

// The longest legal ticket, in the characters that grow most when escaped, is
// within the bound that is checked before anything is decoded.
func TestLongestTicketFits(t *testing.T) {
	t.Parallel()
	keys := newKeys(t, api.Key{ID: strings.Repeat("k", 32), Secret: secretA})
	for _, c := range []string{"<", "&", `"`, `\`, "~"} {
		want := api.Ticket{
			Item: strings.Repeat("i", 64), User: strings.Repeat(c, 128), BizID: strings.Repeat(c, 128),
			Qty: math.MaxInt, Epoch: math.MaxInt64, Path: api.PathRefuse, Exp: math.MaxInt64,
		}
		got, err := keys.Verify(keys.Sign(want), now)
		if err != nil || got != want {
			t.Errorf("of %q: %v", c, err)
		}
	}
}

// Whoever writes a backend of his own goes by the form, so it may not drift.
func TestTicketForm(t *testing.T) {
	t.Parallel()
	keys := newKeys(t, api.Key{ID: "k1", Secret: secretA}, api.Key{ID: "k0", Secret: secretB})
	header := keys.Sign(aTicket())
	parts := regexp.MustCompile(`^v1\.k1\.([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]{43})$`).FindStringSubmatch(header)
	if parts == nil {
		t.Fatalf("form of %q", header)
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"item":"1001","user":"u-7","biz_id":"biz-1","qty":1,"epoch":3,"path":"redis","exp":1800000003000}`
	if diff := cmp.Diff(want, string(payload)); diff != "" {
		t.Error(diff)
	}
	if got := seal("k1", secretA, want); got != header {
		t.Errorf("signature: got %q, want %q", header, got)
	}
}

func TestNewKeysRefuses(t *testing.T) {
	t.Parallel()
	for name, keys := range map[string][]api.Key{
		"none":         {},
		"short secret": {{ID: "k1", Secret: secretA[:31]}},
		"empty id":     {{Secret: secretA}},
		"dot in id":    {{ID: "k.1", Secret: secretA}},
		"long id":      {{ID: strings.Repeat("k", 33), Secret: secretA}},
		"same id":      {{ID: "k1", Secret: secretA}, {ID: "k1", Secret: secretB}},
	} {
		if k, err := api.NewKeys(keys); err == nil {
			t.Errorf("%s: got %v, want an error", name, k)
		}
	}
}

func TestKeysKeepTheirOwnCopyOfASecret(t *testing.T) {
	t.Parallel()
	secret := bytes.Clone(secretA)
	keys := newKeys(t, api.Key{ID: "k1", Secret: secret})
	before := keys.Sign(aTicket())
	clear(secret)
	if _, err := keys.Verify(before, now); err != nil {
		t.Error(err)
	}
}

func TestRandomKeysAreNobodyElses(t *testing.T) {
	t.Parallel()
	one, other := api.RandomKeys(), api.RandomKeys()
	if _, err := one.Verify(one.Sign(aTicket()), now); err != nil {
		t.Error(err)
	}
	if _, err := one.Verify(other.Sign(aTicket()), now); err == nil {
		t.Error("verified another process' ticket")
	}
}

func TestSecretsAreNotPrinted(t *testing.T) {
	t.Parallel()
	secret := []byte("correct horse battery staple, 33 b")
	key := api.Key{ID: "k1", Secret: secret}
	keys := newKeys(t, key)
	text, err := json.Marshal(key)
	if err != nil {
		t.Fatal(err)
	}
	printed := fmt.Sprintf("%v %+v %#v %s %v %+v %#v %s", key, key, key, text, keys, keys, keys, keys)
	for _, leak := range []string{string(secret), base64.StdEncoding.EncodeToString(secret), fmt.Sprint(secret), "99, 111", "0x63"} {
		if strings.Contains(printed, leak) {
			t.Errorf("%q is in %q", leak, printed)
		}
	}
}
