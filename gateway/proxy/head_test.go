package proxy

import (
	"bufio"
	"slices"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"
)

const browserHead = "POST /seckill/1001?from=home HTTP/1.1\r\n" +
	"Host: shop.example.com\r\n" +
	"Connection: keep-alive\r\n" +
	"Content-Length: 9\r\n" +
	"User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36\r\n" +
	"Accept: application/json\r\n" +
	"Accept-Encoding: gzip, deflate, br\r\n" +
	"Accept-Language: zh-CN,zh;q=0.9\r\n" +
	"Content-Type: application/json\r\n" +
	"Cookie: session=0123456789abcdef0123456789abcdef; theme=dark\r\n" +
	"Idempotency-Key: 0198c2de-9f4c-7cc1-8f3e-1d2a3b4c5d6e\r\n" +
	"Origin: https://shop.example.com\r\n" +
	"X-User-Id: 42\r\n" +
	"x-a: 1\r\nX-A: 2\r\n\r\n"

func parse(t testing.TB, raw string) *fasthttp.RequestHeader {
	t.Helper()
	req := &fasthttp.RequestHeader{}
	if err := req.Read(bufio.NewReaderSize(strings.NewReader(raw), 16<<10)); err != nil {
		t.Fatal(err)
	}
	return req
}

func TestHeadAccessors(t *testing.T) {
	var h Head
	if f := h.Read(parse(t, browserHead), 100); f != nil {
		t.Fatal(f)
	}
	for what, got := range map[string][2]string{
		"method": {string(h.Method()), "POST"},
		"host":   {string(h.Host()), "shop.example.com"},
		"path":   {string(h.Path()), "/seckill/1001"},
		"query":  {string(h.Query()), "from=home"},
	} {
		if got[0] != got[1] {
			t.Errorf("%s: %q, want %q", what, got[0], got[1])
		}
	}
	for _, tt := range []struct {
		name, value string
		n           int
	}{
		{"X-User-Id", "42", 1},
		{"x-uSER-iD", "42", 1},
		{"X_User_Id", "", 0}, // read by its own name only
		{"X-A", "1", 2},
		{"X-B", "", 0},
		{"", "", 0},
	} {
		if v, n := h.Get(tt.name); string(v) != tt.value || n != tt.n {
			t.Errorf("Get(%q) = %q, %d, want %q, %d", tt.name, v, n, tt.value, tt.n)
		}
	}
	var all []string
	for v := range h.All("X-A") {
		all = append(all, string(v))
	}
	if want := []string{"1", "2"}; !slices.Equal(all, want) {
		t.Errorf("All = %q, want %q", all, want)
	}
	for range h.All("X-A") {
		break // may be left early
	}
}

// TestHeadReliesOnNobody: what fasthttp refuses today is refused here too.
func TestHeadReliesOnNobody(t *testing.T) {
	for _, tt := range []struct {
		name, block string
		want        *Fault
	}{
		{"good", "Host: a\r\nContent-Length: 5\r\n\r\n", nil},
		{"no Host", "A: 1\r\n\r\n", faultNoHost},
		{"no fields", "", faultNoHost},
		{"two hosts", "Host: a\r\nhost: a\r\n\r\n", faultHosts},
		{"bad host", "Host: a/b\r\n\r\n", faultHost},
		{"underscored host beside", "Host: a\r\nHo_st: a\r\n\r\n", nil},
		{"two lengths", "Host: a\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\n", faultFraming},
		{"two codings", "Host: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", faultFraming},
		{"both", "Host: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n", faultFraming},
		{"signed length", "Host: a\r\nContent-Length: +5\r\n\r\n", faultLength},
		{"empty length", "Host: a\r\nContent-Length:\r\n\r\n", faultLength},
		{"other coding", "Host: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", faultCoding},
		{"coding in capitals", "Host: a\r\nTransfer-Encoding: CHUNKED\r\n\r\n", nil},
		{"fold", "Host: a\r\n b\r\n\r\n", faultFold},
		{"space first", " Host: a\r\n\r\n", faultFold},
		{"LF", "Host: a\n\r\n", faultBareLF},
		{"space before the colon", "Host : a\r\n\r\n", faultName},
		{"no name", ": a\r\n\r\n", faultName},
		{"no colon", "Host\r\n\r\n", faultName},
		{"CR in a value", "Host: a\r\nA: 1\r2\r\n\r\n", faultValue},
		{"NUL in a value", "Host: a\r\nA: \x00\r\n\r\n", faultValue},
		{"no end", "Host: a\r\n", faultUnended},
		{"a line behind the end", "Host: a\r\n\r\nA: 1\r\n\r\n", faultName},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := Head{minor: 1}
			var got *Fault
			if h.fields, got = scanFields(nil, []byte(tt.block), 100); got == nil {
				got = h.readHost()
			}
			if got == nil {
				got = h.readFraming()
			}
			if got != tt.want {
				t.Errorf("%v, want %v", got, tt.want)
			}
		})
	}
}

// TestHeadForgets: nothing of one request is seen in the next.
func TestHeadForgets(t *testing.T) {
	var h Head
	if f := h.Read(parse(t, browserHead), 100); f != nil {
		t.Fatal(f)
	}
	if f := h.Read(parse(t, "GET /x HTTP/1.0\r\nHost: b.test\r\n\r\n"), 100); f != nil {
		t.Fatal(f)
	}
	if _, n := h.Get("X-User-Id"); n != 0 {
		t.Error("the old identity is there")
	}
	if q := h.Query(); q != nil {
		t.Errorf("the old query is there: %q", q)
	}
	if h.hasBody {
		t.Error("the old framing is there")
	}
}

func TestHeadAllocatesNothing(t *testing.T) {
	good, bad := parse(t, browserHead), parse(t, strings.Replace(browserHead, "/seckill", "//seckill", 1))
	var h Head
	_ = h.Read(good, 100) // grows once
	if n := testing.AllocsPerRun(100, func() {
		if h.Read(good, 100) != nil {
			t.Error("refused")
		}
		if v, n := h.Get("idempotency-key"); n != 1 || len(v) != 36 {
			t.Error("no key")
		}
	}); n != 0 {
		t.Errorf("%v allocations for a good request", n)
	}
	if n := testing.AllocsPerRun(100, func() {
		if h.Read(bad, 100) == nil {
			t.Error("taken")
		}
	}); n != 0 {
		t.Errorf("%v allocations for a bad request", n)
	}
	own := testOwn
	var out []byte
	_ = h.Read(good, 100)
	out = appendRequest(out, &h, &own, "rushgate-test", 9)
	if n := testing.AllocsPerRun(100, func() { out = appendRequest(out[:0], &h, &own, "rushgate-test", 9) }); n != 0 {
		t.Errorf("%v allocations for the upstream request", n)
	}
}

func BenchmarkHeadRead(b *testing.B) {
	req := parse(b, browserHead)
	var h Head
	b.ReportAllocs()
	for b.Loop() {
		if f := h.Read(req, 100); f != nil {
			b.Fatal(f)
		}
	}
}
