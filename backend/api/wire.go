package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Paths of the calls. An order has its own below PathOrders: its number, and
// after that "/pay" or "/cancel".
const (
	PathOrders    = "/v1/orders"
	PathRefusals  = "/v1/orders/refuse"
	PathCatalogue = "/v1/catalogue"
)

// HeaderTicket carries a signed [Ticket].
const HeaderTicket = "Rushgate-Ticket"

// ContentTypeProblem is the media type of every answer that is an error (RFC
// 9457, section 3).
const ContentTypeProblem = "application/problem+json"

// MaxBody bounds the body of a request, in bytes. The longest that the contract
// knows has about 200.
const MaxBody = 4 << 10

// OrderBody is the body of a purchase. The ticket decides; the quantity is here
// so that whoever reads the body alone is not misled, and the two must agree.
type OrderBody struct {
	Qty int `json:"qty"`
}

// RefuseBody is the body that makes a refusal final. Code is a final one.
type RefuseBody struct {
	Qty  int  `json:"qty"`
	Code Code `json:"code"`
}

// UserBody is the body of pay and cancel: whose order it is.
type UserBody struct {
	User string `json:"user"`
}

// DecodeStrict reads one flat JSON object into v and refuses what a lenient
// reader would let pass, because two readers that let different things pass
// understand one signed text in two ways: unknown fields, a field named twice or
// in other letters than declared, nested values, and anything after the object.
func DecodeStrict(data []byte, v any) error {
	if err := checkFlat(data); err != nil {
		return err
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	return dec.Decode(v)
}

// checkFlat walks the tokens of one object of scalars up to the end of data.
func checkFlat(data []byte) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	if tok, err := dec.Token(); err != nil || tok != json.Delim('{') {
		return errors.New("want a JSON object")
	}
	seen := make(map[string]bool, 8)
	for dec.More() {
		if err := checkField(dec, seen); err != nil {
			return err
		}
	}
	if _, err := dec.Token(); err != nil { // the closing brace
		return fmt.Errorf("JSON object: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("want nothing after the JSON object")
	}
	return nil
}

// checkField reads one name and its value.
func checkField(dec *json.Decoder, seen map[string]bool) error {
	tok, err := dec.Token()
	if err != nil {
		return fmt.Errorf("JSON object: %w", err)
	}
	// Inside an object the decoder lets nothing but a string stand for a name.
	name, _ := tok.(string)
	switch {
	case !fieldName(name):
		return fmt.Errorf("field %.32q is not known", name)
	case seen[name]:
		return fmt.Errorf("field %.32q is there twice", name)
	}
	seen[name] = true
	value, err := dec.Token()
	if err != nil {
		return fmt.Errorf("field %.32q: %w", name, err)
	}
	if _, nested := value.(json.Delim); nested {
		return fmt.Errorf("field %.32q: want a string or a number", name)
	}
	return nil
}

// fieldName says that s is spelled as all fields of the contract are. The
// standard decoder also takes "QTY" for "qty", which would let one field be
// there twice.
func fieldName(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < 'a' || c > 'z') && c != '_' {
			return false
		}
	}
	return s != ""
}
