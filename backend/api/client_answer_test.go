package api

import (
	"errors"
	"net/http"
	"testing"
)

// FuzzAnswer holds that whatever a server says, a caller hears either an order
// about what it asked or one end of the contract's, and never two ends at once.
func FuzzAnswer(f *testing.F) {
	for _, body := range []string{
		`{"order_id":"1","item":"i","user":"u","biz_id":"b","qty":1,"state":"created"}`, `{"code":"sold_out","left":1}`,
		`{"code":"stale","epoch":4}`, `{"code":"not_done"}`, `{"code":"unknown_outcome"}`, `{"code":"order_state","state":"paid"}`, `null`, `[`,
	} {
		for _, status := range []int{200, 201, 400, 403, 404, 409, 410, 422, 503, 504} {
			f.Add(status, body, true)
		}
	}
	f.Fuzz(func(t *testing.T, status int, body string, writes bool) {
		q := question{op: "place", writes: writes, want: http.StatusCreated}
		o, err := q.order(answer{status: status, body: []byte(body)}, isOrder("u", "1"))
		if err == nil {
			if status != http.StatusCreated || o.User != "u" || o.OrderID != "1" {
				t.Errorf("%d %q became the order %+v", status, body, o)
			}
			return
		}
		refusal, _ := errors.AsType[*Refusal](err)
		stale, _ := errors.AsType[*Stale](err)
		told := 0
		for _, is := range []bool{
			refusal != nil, stale != nil, errors.Is(err, ErrMismatch), errors.Is(err, ErrNotFound),
			errors.Is(err, ErrFailed), errors.Is(err, ErrUnknown),
		} {
			if is {
				told++
			}
		}
		if told != 1 || o != (Order{}) {
			t.Errorf("%d %q tells %d ends: %v, with %+v", status, body, told, err, o)
		}
	})
}
