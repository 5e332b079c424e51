package storetest

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

func TestMessageTakenForACommit(t *testing.T) {
	type message struct {
		Text   string
		Commit bool
	}
	for name, c := range map[string]struct {
		read func(*bufio.Reader) messages
		sent []message
	}{
		"MariaDB": {mariadbMessages, []message{
			{"\x03\x00\x00\x01abc", false}, // a greeting has no command
			{"\x01\x00\x00\x00\x01", false},
			{"\x00\x00\x00\x00", false},
			{"\x07\x00\x00\x00\x03COMMIT", true},
			{"\x08\x00\x00\x00\x03commit;", true},
			{"\x07\x00\x00\x00\x16COMMIT", false}, // prepares it
			{"\x0f\x00\x00\x00\x03SELECT 'COMMIT", false},
			{"\x00\x01\x00\x00\x03" + strings.Repeat(" COMMIT", 36) + "   ", false},
		}},
		"PostgreSQL": {postgresMessages, []message{
			{"\x00\x00\x00\x08\x04\xd2\x16\x2f", false}, // asks for encryption
			{"\x00\x00\x00\x09\x00\x03\x00\x00\x00", false},
			{"p\x00\x00\x00\x06x\x00", false},
			{"Q\x00\x00\x00\x0bcommit\x00", true},
			{"Q\x00\x00\x00\x0cCOMMIT;\x00", true},
			{"P\x00\x00\x00\x0bcommit\x00", false}, // prepares it
			{"Q\x00\x00\x00\x0dcommit 1\x00", false},
			{"X\x00\x00\x00\x04", false},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			var all strings.Builder
			for _, m := range c.sent {
				all.WriteString(m.Text)
			}
			next := c.read(bufio.NewReader(iotest.OneByteReader(strings.NewReader(all.String()))))
			var got []message
			for {
				text, commit, err := next()
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, message{string(text), commit})
			}
			if diff := cmp.Diff(c.sent, got); diff != "" {
				t.Errorf("read (-want +got):\n%s", diff)
			}
		})
	}
}
