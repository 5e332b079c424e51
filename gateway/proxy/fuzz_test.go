package proxy

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"
)

// FuzzRequest: whatever is taken is, to another parser, exactly one request
// with the same line and body, and of the fields that only the gateway may write
// it has the gateway's alone.
func FuzzRequest(f *testing.F) {
	for _, head := range []string{
		browserHead,
		"GET / HTTP/1.0\r\nHost: a\r\n\r\n",
		"OPTIONS * HTTP/1.1\r\nHost: a:1\r\nMax-Forwards: 3\r\n\r\n",
		"GET http://a/b?c HTTP/1.1\r\nHost: a\r\nConnection: x, close\r\nX: 1\r\n\r\n",
		"PUT /a;b?c=%zz HTTP/1.7\r\nHost: [::1]\r\nTransfer-Encoding: chunked\r\nX_User_Id: 1\r\nVia: 1.1 x\r\n\r\n",
		"DELETE /%E7 HTTP/1.1\r\nhost: a\r\nCookie: a=b\r\nCookie: c\r\nTE: trailers\r\nTrailer: X-User-Id\r\n\r\n",
	} {
		f.Add([]byte(head), []byte("hello"), "u1")
	}
	f.Add([]byte(browserHead), []byte(nil), "a\r\nb")
	f.Fuzz(func(t *testing.T, head, body []byte, user string) {
		var req fasthttp.RequestHeader
		if req.Read(bufio.NewReaderSize(bytes.NewReader(head), 16<<10)) != nil {
			return
		}
		var h Head
		own := testOwn
		own.User = user
		if h.Read(&req, 100) != nil || own.check() != nil {
			return
		}
		sent := append(appendRequest(nil, &h, &own, "rushgate-test", len(body)), body...)
		wantOneRequest(t, sent, &h, body)
		wantOwnFields(t, sent, user)
	})
}

func wantOneRequest(t *testing.T, sent []byte, h *Head, body []byte) {
	r := bufio.NewReader(bytes.NewReader(sent))
	got, err := http.ReadRequest(r)
	if err != nil {
		t.Fatalf("unreadable: %v in %q", err, sent)
	}
	read, err := io.ReadAll(got.Body)
	if err != nil || !bytes.Equal(read, body) {
		t.Fatalf("body %q, %v, want %q", read, err, body)
	}
	if _, err := r.ReadByte(); err != io.EOF {
		t.Fatalf("more than one request in %q", sent)
	}
	target := string(h.Path())
	if h.Query() != nil {
		target += "?" + string(h.Query())
	}
	if got.Method != string(h.Method()) || got.RequestURI != target || got.Proto != "HTTP/1.1" || got.Host != string(h.Host()) {
		t.Fatalf("%s %s %s to %s in %q", got.Method, got.RequestURI, got.Proto, got.Host, sent)
	}
	if got.Close || got.Trailer != nil || got.TransferEncoding != nil {
		t.Fatalf("hop-by-hop in %q", sent)
	}
}

// wantOwnFields has its own list, and compares as CGI would.
func wantOwnFields(t *testing.T, sent []byte, user string) {
	want := map[string][]string{
		"x-user-id": {strings.Trim(user, " \t")}, "x-forwarded-for": {testOwn.ClientIP}, "x-forwarded-proto": {testOwn.Scheme},
		"x-request-id": {testOwn.RequestID}, "traceparent": {testOwn.TraceParent},
	}
	if user == "" {
		delete(want, "x-user-id")
	}
	gone := []string{"connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade", "http2-settings", "proxy-authorization", "expect",
		"tracestate", "forwarded", "x-real-ip", "true-client-ip", "cf-connecting-ip"}
	head, _, _ := bytes.Cut(sent, []byte("\r\n\r\n"))
	got := map[string][]string{}
	for _, line := range strings.Split(string(head), "\r\n")[1:] {
		name, value, _ := strings.Cut(line, ":")
		name = strings.ReplaceAll(strings.ToLower(name), "_", "-")
		if slices.Contains(gone, name) || strings.HasPrefix(name, "rushgate-") || strings.HasPrefix(name, "x-forwarded-") && want[name] == nil && name != "x-forwarded-host" {
			t.Fatalf("%q in %q", name, sent)
		}
		got[name] = append(got[name], strings.Trim(value, " \t"))
	}
	for name, values := range want {
		if !slices.Equal(got[name], values) {
			t.Fatalf("%s: %q, want %q", name, got[name], values)
		}
	}
	for _, once := range []string{"host", "x-forwarded-host"} {
		if len(got[once]) != 1 {
			t.Fatalf("%s: %q", once, got[once])
		}
	}
	if via := got["via"]; len(via) == 0 || !strings.HasSuffix(via[len(via)-1], " rushgate-test") || len(got["content-length"]) > 1 {
		t.Fatalf("via %q, length %q", via, got["content-length"])
	}
}

// FuzzResponse: a response that is taken has, to another parser, the same
// status and body and ends at the same byte.
func FuzzResponse(f *testing.F) {
	for _, raw := range []string{
		okReply, okReply + okReply,
		"HTTP/1.1 103 X\r\nA: b\r\n\r\nHTTP/1.1 200\r\nTransfer-Encoding: chunked\r\n\r\n2;x\r\nok\r\n0\r\nT: 1\r\n\r\n",
		"HTTP/1.0 200 OK\r\n\r\nuntil the end",
		"HTTP/1.1 204 No\r\nConnection: close, a\r\nA: 1\r\n\r\n",
		"HTTP/1.1 304 N\r\nContent-Length: 5\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
	} {
		f.Add([]byte(raw), true)
		f.Add([]byte(raw), false)
	}
	f.Fuzz(func(t *testing.T, raw []byte, isHEAD bool) {
		x := &trip{isHEAD: isHEAD}
		ours := bufio.NewReaderSize(bytes.NewReader(raw), 16<<10)
		if x.receive(ours, 1<<20) != nil {
			return
		}
		method := http.MethodGet
		if isHEAD {
			method = http.MethodHead
		}
		theirs := bufio.NewReaderSize(bytes.NewReader(raw), 16<<10)
		resp, body, err := finalResponse(theirs, method)
		if err != nil {
			return // refused there: stricter is not another reading
		}
		if resp.StatusCode != x.status || !isHEAD && !bytes.Equal(body, x.resp.Body()) {
			t.Fatalf("%d %q, want %d %q", x.status, x.resp.Body(), resp.StatusCode, body)
		}
		a, _ := io.ReadAll(ours)
		b, _ := io.ReadAll(theirs)
		if !bytes.Equal(a, b) {
			t.Fatalf("rest %q, want %q", a, b)
		}
	})
}

func finalResponse(r *bufio.Reader, method string) (*http.Response, []byte, error) {
	for {
		resp, err := http.ReadResponse(r, &http.Request{Method: method})
		if err != nil {
			return nil, nil, err
		}
		if resp.StatusCode >= 200 {
			body, err := io.ReadAll(resp.Body)
			return resp, body, err
		}
	}
}
