//go:build race

package server

// mayAllocate is not 0 here: under the race detector a sync.Pool forgets a part of
// what it is given, on purpose, and an exchange is made anew.
const mayAllocate = 5
