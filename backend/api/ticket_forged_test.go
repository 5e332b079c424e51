package api_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"strings"
	"testing"
	"time"

	"rushgate/backend/api"
)

// seal signs any text, as somebody who has the secret can.
func seal(id string, secret []byte, payload string) string {
	head := "v1." + id + "." + base64.RawURLEncoding.EncodeToString([]byte(payload))
	return head + "." + sum(secret, head)
}

func sum(secret []byte, text string) string {
	h := hmac.New(sha256.New, secret)
	h.Write([]byte(text))
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil))
}

// wantInvalid also holds that a ticket that isn't taken was definitely not acted
// on.
func wantInvalid(t *testing.T, keys *api.Keys, name, header string) {
	t.Helper()
	got, err := keys.Verify(header, now)
	if !errors.Is(err, api.ErrTicketInvalid) || !errors.Is(err, api.ErrFailed) || errors.Is(err, api.ErrTicketExpired) {
		t.Errorf("%s: got error %v, want ErrTicketInvalid", name, err)
	}
	if got != (api.Ticket{}) {
		t.Errorf("%s: got a ticket: %+v", name, got)
	}
}

func TestFlippedBitsNeverVerify(t *testing.T) {
	t.Parallel()
	keys := newKeys(t, api.Key{ID: "k1", Secret: secretA}, api.Key{ID: "k0", Secret: secretA})
	header := keys.Sign(aTicket())
	for i := range len(header) {
		for bit := range 8 {
			flipped := []byte(header)
			flipped[i] ^= 1 << bit
			if got, err := keys.Verify(string(flipped), now); !errors.Is(err, api.ErrTicketInvalid) {
				t.Errorf("byte %d bit %d: got %+v, %v", i, bit, got, err)
			}
		}
	}
}

func TestForgedHeaders(t *testing.T) {
	t.Parallel()
	keys := newKeys(t, api.Key{ID: "k1", Secret: secretA})
	good := keys.Sign(aTicket())
	head, tail := good[:strings.LastIndexByte(good, '.')], good[strings.LastIndexByte(good, '.'):]
	for name, header := range map[string]string{
		"empty":                  "",
		"dots":                   "...",
		"no signature":           head,
		"empty signature":        head + ".",
		"padded signature":       good + "=",
		"line break in it":       head + tail[:20] + "\n" + tail[20:],
		"space before":           " " + good,
		"something after":        good + ".x",
		"other version":          "v2" + good[2:],
		"unknown key":            seal("k2", secretA, `{}`),
		"key without a name":     seal("", secretA, `{}`),
		"another's secret":       newKeys(t, api.Key{ID: "k1", Secret: secretB}).Sign(aTicket()),
		"two tickets in one":     good + "," + good,
		"longer than the bound":  seal("k1", secretA, `{"item":"`+strings.Repeat("i", 2048)+`"}`),
		"signed but not base64":  "v1.k1.{}." + sum(secretA, "v1.k1.{}"),
		"signature of the inner": head + "." + sum(secretA, head[len("v1.k1."):]),
	} {
		wantInvalid(t, keys, name, header)
	}
}

func TestSignedButIllegalTickets(t *testing.T) {
	t.Parallel()
	keys := newKeys(t, api.Key{ID: "k1", Secret: secretA})
	const legal = `{"item":"1","user":"u","biz_id":"b","qty":1,"epoch":1,"path":"db","exp":1800000003000}`
	if _, err := keys.Verify(seal("k1", secretA, legal), now); err != nil {
		t.Fatalf("the legal one: %v", err)
	}
	for name, change := range map[string][2]string{
		"unknown field":      {`{`, `{"admin":1,`},
		"field twice":        {`{`, `{"qty":9,`},
		"field in capitals":  {`"qty"`, `"QTY"`},
		"both spellings":     {`{`, `{"Qty":9,`},
		"long s for s":       {`"user"`, "\"u\u017fer\""},
		"nested value":       {`"u"`, `{"id":"u"}`},
		"list value":         {`"u"`, `["u"]`},
		"trailing object":    {`}`, `}{}`},
		"trailing brace":     {`}`, `}}`},
		"trailing comma":     {`}`, `,}`},
		"cut":                {`}`, ``},
		"null":               {legal, `null`},
		"list":               {legal, `[` + legal + `]`},
		"string":             {legal, `"x"`},
		"nothing":            {legal, ``},
		"empty object":       {legal, `{}`},
		"number as a string": {`"qty":1`, `"qty":"1"`},
		"fraction":           {`"qty":1`, `"qty":1.5`},
		"qty null":           {`"qty":1`, `"qty":null`},
		"qty 0":              {`"qty":1`, `"qty":0`},
		"qty negative":       {`"qty":1`, `"qty":-1`},
		"qty beyond int":     {`"qty":1`, `"qty":9223372036854775808`},
		"epoch negative":     {`"epoch":1`, `"epoch":-1`},
		"exp 0":              {`1800000003000`, `0`},
		"path unknown":       {`"db"`, `"memory"`},
		"path empty":         {`"db"`, `""`},
		"item empty":         {`"1"`, `""`},
		"item with a slash":  {`"1"`, `"a/b"`},
		"item with a brace":  {`"1"`, `"a}b"`},
		"item too long":      {`"1"`, `"` + strings.Repeat("i", 65) + `"`},
		"user empty":         {`"u"`, `""`},
		"user with a space":  {`"u"`, `"a b"`},
		"user with a break":  {`"u"`, `"a\nb"`},
		"user not ASCII":     {`"u"`, `"ü"`},
		"user not UTF-8":     {`"u"`, "\"\xff\""},
		"user too long":      {`"u"`, `"` + strings.Repeat("u", 129) + `"`},
		"biz_id empty":       {`"b"`, `""`},
		"biz_id DEL":         {`"b"`, "\"\x7f\""},
		"biz_id too long":    {`"b"`, `"` + strings.Repeat("b", 129) + `"`},
	} {
		payload := strings.Replace(legal, change[0], change[1], 1)
		if payload == legal {
			t.Fatalf("%s: changes nothing", name)
		}
		wantInvalid(t, keys, name, seal("k1", secretA, payload))
	}
}

func TestLateTickets(t *testing.T) {
	t.Parallel()
	keys := newKeys(t, api.Key{ID: "k1", Secret: secretA})
	ticket := aTicket()
	header := keys.Sign(ticket)
	exp := time.UnixMilli(ticket.Exp)
	for _, at := range []time.Time{now, exp.Add(-time.Millisecond), now.Add(-time.Hour)} {
		if _, err := keys.Verify(header, at); err != nil {
			t.Errorf("%v before it ends: %v", exp.Sub(at), err)
		}
	}
	for _, at := range []time.Time{exp, exp.Add(time.Millisecond), exp.Add(time.Hour)} {
		_, err := keys.Verify(header, at)
		if !errors.Is(err, api.ErrTicketExpired) || !errors.Is(err, api.ErrFailed) || errors.Is(err, api.ErrTicketInvalid) {
			t.Errorf("%v after it ended: got %v, want ErrTicketExpired", at.Sub(exp), err)
		}
	}
}

func TestALateForgedTicketIsForged(t *testing.T) {
	t.Parallel()
	late := aTicket()
	late.Exp = now.UnixMilli() - 1
	wantInvalid(t, newKeys(t, api.Key{ID: "k1", Secret: secretA}), "late", newKeys(t, api.Key{ID: "k1", Secret: secretB}).Sign(late))
}

// A secret is rotated while both programs run: nobody's ticket is refused on the
// way, and in the end the old secret is worth nothing.
func TestRotatedKeys(t *testing.T) {
	t.Parallel()
	oldKey, newKey := api.Key{ID: "k1", Secret: secretA}, api.Key{ID: "k2", Secret: secretB}
	onlyOld, both, turned, onlyNew := newKeys(t, oldKey), newKeys(t, oldKey, newKey), newKeys(t, newKey, oldKey), newKeys(t, newKey)
	for _, step := range []struct{ gateway, backend *api.Keys }{
		{onlyOld, onlyOld}, {onlyOld, both}, {both, both}, {both, turned}, {turned, both}, {turned, turned}, {turned, onlyNew}, {onlyNew, onlyNew},
	} {
		if _, err := step.backend.Verify(step.gateway.Sign(aTicket()), now); err != nil {
			t.Errorf("%v to %v: %v", step.gateway, step.backend, err)
		}
	}
	wantInvalid(t, onlyNew, "the old secret", onlyOld.Sign(aTicket()))
}

// FuzzVerify holds that no header brings Verify down, and that what verifies is
// what was signed, letter by letter.
func FuzzVerify(f *testing.F) {
	keys, err := api.NewKeys([]api.Key{{ID: "k1", Secret: secretA}, {ID: "k0", Secret: secretB}})
	if err != nil {
		f.Fatal(err)
	}
	good := keys.Sign(aTicket())
	for _, seed := range []string{"", "v1...", good, good[:len(good)-1], good + "=", strings.ToUpper(good), seal("k0", secretB, `{"qty":1}`)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, header string) {
		got, err := keys.Verify(header, now)
		switch {
		case err == nil && keys.Sign(got) != header:
			t.Errorf("verified %q, which was not signed", header)
		case err != nil && !errors.Is(err, api.ErrTicketInvalid) && !errors.Is(err, api.ErrTicketExpired):
			t.Errorf("error of another kind: %v", err)
		}
	})
}

// FuzzDecode holds the same for a payload that is signed, so that the fuzzer
// gets past the signature.
func FuzzDecode(f *testing.F) {
	keys, err := api.NewKeys([]api.Key{{ID: "k1", Secret: secretA}})
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{`{}`, `{"item":"1","user":"u","biz_id":"b","qty":1,"epoch":1,"path":"db","exp":1800000003000}`, `{"qty":1,"qty":2}`, `{"a":{`, "{\"\\u0071ty\":1}"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, payload string) {
		got, err := keys.Verify(seal("k1", secretA, payload), now)
		if err != nil {
			return
		}
		again, err := keys.Verify(keys.Sign(got), now)
		if err != nil || again != got {
			t.Errorf("taken once as %+v, then as %+v, %v", got, again, err)
		}
	})
}
