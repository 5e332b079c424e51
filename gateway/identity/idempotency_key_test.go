package identity

import (
	"errors"
	"strings"
	"testing"
)

func TestParseKey(t *testing.T) {
	const uuid = "01935b3c-7a2e-7f00-8000-0123456789ab"
	long := strings.Repeat("k", maxKey)
	tests := map[string]struct {
		value string
		want  string
		err   error
	}{
		"quoted":                  {`"` + uuid + `"`, uuid, nil},
		"bare":                    {uuid, uuid, nil},
		"space around":            {" \t\"" + uuid + "\" ", uuid, nil},
		"ULID":                    {"01ARZ3NDEKTSV4RRFFQ69G5FAV", "01ARZ3NDEKTSV4RRFFQ69G5FAV", nil},
		"all that isn't a letter": {"0.9_:~-", "0.9_:~-", nil},
		"one character":           {"1", "1", nil},
		"longest":                 {long, long, nil},
		"longest, quoted":         {`"` + long + `"`, long, nil},
		"missing":                 {"", "", ErrKeyMissing},
		"blank":                   {" \t", "", ErrKeyMissing},
		"empty string":            {`""`, "", ErrKeyMalformed},
		"blank string":            {`" "`, "", ErrKeyMalformed},
		"too long":                {long + "k", "", ErrKeyMalformed},
		"only one quote":          {`"`, "", ErrKeyMalformed},
		"quote missing":           {`"` + uuid, "", ErrKeyMalformed},
		"quote at the end":        {uuid + `"`, "", ErrKeyMalformed},
		"quotes twice":            {`""` + uuid + `""`, "", ErrKeyMalformed},
		"single quotes":           {"'" + uuid + "'", "", ErrKeyMalformed},
		"escape":                  {`"a\"b"`, "", ErrKeyMalformed},
		"two keys joined":         {uuid + ", " + uuid, "", ErrKeyMalformed},
		"two strings joined":      {`"a", "b"`, "", ErrKeyMalformed},
		"parameter":               {`"a";v=1`, "", ErrKeyMalformed},
		"space inside":            {"a b", "", ErrKeyMalformed},
		"slash":                   {"a/b", "", ErrKeyMalformed},
		"ampersand":               {"a&user=bob", "", ErrKeyMalformed},
		"plus":                    {"a+b", "", ErrKeyMalformed},
		"percent":                 {"a%20b", "", ErrKeyMalformed},
		"brace":                   {"{a}", "", ErrKeyMalformed},
		"control byte":            {"a\x00", "", ErrKeyMalformed},
		"line break":              {"a\r\nb", "", ErrKeyMalformed},
		"not ASCII":               {"ключ", "", ErrKeyMalformed},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := ParseKey([]byte(tt.value))
			if string(got) != tt.want || !errors.Is(err, tt.err) {
				t.Errorf("got %q and error %v, want %q and %v", got, err, tt.want, tt.err)
			}
		})
	}
}

func TestParseKeyAllocatesNothing(t *testing.T) {
	quoted, bad := []byte(`"01935b3c-7a2e-7f00-8000-0123456789ab"`), []byte("a b")
	got := testing.AllocsPerRun(1000, func() {
		_, _ = ParseKey(quoted)
		_, _ = ParseKey(bad)
		_, _ = ParseKey(nil)
	})
	if got != 0 {
		t.Errorf("%v allocations, want 0", got)
	}
}
