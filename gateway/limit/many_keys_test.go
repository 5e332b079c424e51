//go:build !race

package limit

const manyKeys = 1_000_000
