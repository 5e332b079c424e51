package server

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"
)

func TestQuantity(t *testing.T) {
	for body, want := range map[string]int{
		"": 1, "{}": 1, " { } ": 1, `{"qty":1}`: 1, `{"qty":2}`: 2, "\t{ \"qty\" :\n10 }\r\n": 10, `{"qty":1000000}`: 1_000_000,
		`{"qty":0}`: 0, `{"qty":-1}`: 0, `{"qty":01}`: 0, `{"qty":+1}`: 0, `{"qty":1.0}`: 0, `{"qty":1e0}`: 0, `{"qty":"1"}`: 0,
		`{"qty":null}`: 0, `{"qty":true}`: 0, `{"qty":[1]}`: 0, `{"qty":{}}`: 0, `{"qty":}`: 0, `{"qty"}`: 0, `{"qty":1`: 0, `{"qty":1,}`: 0,
		`{"qty":1000001}`: 0, `{"qty":10000000}`: 0, `{"qty":99999999999999999999}`: 0, `{"qty":18446744073709551617}`: 0,
		`{"qty":1,"qty":5}`: 0, `{"qty":1,"price":0}`: 0, `{"QTY":1}`: 0, `{"quantity":1}`: 0, `{qty:1}`: 0, `{'qty':1}`: 0,
		`{"qty":1}{"qty":2}`: 0, `{"qty":1} x`: 0, `{}x`: 0, "1": 0, "[]": 0, "null": 0, "{": 0, "}": 0, " ": 0, "qty=1": 0, "\xef\xbb\xbf{}": 0, `{"qty":1 2}`: 0,
	} {
		got, ok := parseQty([]byte(body))
		if ok != (want > 0) || ok && got != want {
			t.Errorf("%q: %d, %t; want %d", body, got, ok, want)
		}
	}
}

// What is taken, any JSON reader takes for the same number.
func TestQuantityMeansTwoThings(t *testing.T) {
	body := rapid.OneOf(
		rapid.StringMatching(`[ \t]*\{[ ]*"qty"[ ]*:[ ]*[0-9]{1,9}[ ]*\}[ \n]*`),
		rapid.StringMatching(`[{}\[\]"qty:0-9,. e+\-]{0,14}`),
	)
	rapid.Check(t, func(t *rapid.T) {
		b := body.Draw(t, "body")
		got, ok := parseQty([]byte(b))
		if !ok || b == "" {
			return
		}
		read := struct{ Qty int }{1}
		if err := json.Unmarshal([]byte(b), &read); err != nil || got != read.Qty {
			t.Fatalf("%q: %d here, %d to a JSON reader: %v", b, got, read.Qty, err)
		}
	})
}
