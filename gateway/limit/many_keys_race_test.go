//go:build race

package limit

// manyKeys is smaller here: the race detector makes the table's bookkeeping some
// thirty times slower.
const manyKeys = 100_000
