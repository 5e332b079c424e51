package server

import (
	"net/http"
	"time"
)

// IdleTimeout is how long the backend keeps a connection on which nothing is
// asked: several times what the client keeps it, so that a request never meets a
// connection about to be closed.
const IdleTimeout = time.Minute

const (
	readHeaderTimeout = 5 * time.Second
	readTimeout       = 10 * time.Second // head and body, at most a few KiB
	writeTimeout      = 20 * time.Second // from the end of the head to the end of the answer
	maxHeaderBytes    = 16 << 10
)

// HTTPServer returns a server for h with every wait bounded. The caller listens,
// and shuts it down.
func HTTPServer(addr string, h http.Handler) *http.Server {
	return &http.Server{
		Addr:              addr,
		Handler:           h,
		ReadHeaderTimeout: readHeaderTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       IdleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
	}
}
