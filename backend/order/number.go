package order

import "strconv"

// FormatNumber writes an order number as clients see it: decimal, in a string,
// since JavaScript and Lua numbers are doubles and lose the last digits.
func FormatNumber(n int64) string { return strconv.FormatInt(n, 10) }

// ParseNumber reads an order number; ok is false for anything that
// FormatNumber would not have written.
func ParseNumber(s string) (n int64, ok bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil && n > 0 && FormatNumber(n) == s
}
