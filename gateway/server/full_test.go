package server

import (
	"bufio"
	"bytes"
	"encoding/json"
	"net/http"
	"testing"
)

// A connection that is turned away hears a problem like everybody else.
func TestTurnedAwayWithoutAProblem(t *testing.T) {
	r, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(fullResponse())), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Body.Close() }()
	var p struct {
		Status int    `json:"status"`
		Code   string `json:"code"`
		Wait   int64  `json:"retry_after_ms"`
	}
	if err := json.NewDecoder(r.Body).Decode(&p); err != nil {
		t.Fatal(err)
	}
	if r.StatusCode != 503 || p.Status != 503 || p.Code != "overloaded" || p.Wait != 1000 ||
		r.Header.Get("Content-Type") != "application/problem+json" || r.Header.Get("Retry-After") != "1" || !r.Close {
		t.Errorf("%+v %+v", r, p)
	}
}
