package proxy

import (
	"fmt"
	"net/http"

	"github.com/valyala/fasthttp"
)

// Forward sends the request that h was read from to the upstream of this name
// and writes the answer into ctx.Response. The body is read whole beforehand, within
// the server's bound, and sent with its length.
//
// It returns within Options.Dial twice plus Options.Timeout. The error is a
// *Fault (400, 508), or wraps ErrUnreachable, ErrTimeout or ErrBroken; ctx.Response
// is then untouched. Nothing is sent twice.
func (u *Upstreams) Forward(ctx *fasthttp.RequestCtx, h *Head, name string, own Own) error {
	g := u.groups[name]
	if g == nil {
		return fmt.Errorf("no upstream is named %q: %w", name, ErrUnreachable)
	}
	if f := own.check(); f != nil {
		return f
	}
	if h.passed(u.pseudonym) {
		return faultLoop
	}
	if h.maxHops == 0 {
		answerOptions(&ctx.Response)
		return nil
	}
	x, _ := trips.Get().(*trip) // the pool makes nothing else
	defer x.release()
	x.body = ctx.Request.Body()
	x.isHEAD = string(h.method) == http.MethodHead
	x.request = appendRequest(x.request[:0], h, &own, u.pseudonym, len(x.body))
	if err := g.exchange(x); err != nil {
		return err
	}
	x.answer(&ctx.Response)
	return nil
}

// answerOptions answers for the last server that an OPTIONS request was to
// reach (RFC 9110 section 7.6.2).
func answerOptions(to *fasthttp.Response) {
	to.SetStatusCode(http.StatusNoContent)
	to.Header.Set("Allow", Allow)
}
