//go:build !race

package server

// mayAllocate is how often a refusal may allocate, on average.
const mayAllocate = 0
