package proxy

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// TestCrosstalk: under concurrency every client gets the answer to its own
// request, over shared connections and reused memory.
func TestCrosstalk(t *testing.T) {
	echo := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			w.WriteHeader(500)
		}
		w.Header().Set("X-Tag", r.Header.Get("X-Tag"))
		fmt.Fprintf(w, "%s %s %s", r.Method, r.RequestURI, body)
	}))
	t.Cleanup(echo.Close)
	f := startFront(t, testBounds, Options{Servers: []string{strings.TrimPrefix(echo.URL, "http://")}})
	var wg sync.WaitGroup
	for worker := range 16 {
		c := f.dial(t)
		wg.Go(func() {
			for i := range 50 {
				tag := fmt.Sprintf("%d-%d", worker, i)
				body := strings.Repeat(tag, 1+i*worker)
				c.send(fmt.Sprintf("POST /%s HTTP/1.1\r\nHost: a.test\r\nX-Tag: %s\r\nContent-Length: %d\r\n\r\n%s", tag, tag, len(body), body))
				resp, err := http.ReadResponse(c.r, nil)
				if err != nil {
					t.Error(err)
					return
				}
				got, err := io.ReadAll(resp.Body)
				if want := "POST /" + tag + " " + body; err != nil || string(got) != want || resp.Header.Get("X-Tag") != tag {
					t.Errorf("%s: another's answer: %.60q, %v", tag, got, err)
					return
				}
			}
		})
	}
	wg.Wait()
}
