package lua

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"time"
)

// dialer connects within a bound and before the end of a context, TLS included, for
// which the library's own looks at the bound alone.
type dialer struct {
	timeout time.Duration
	tls     *tls.Config // nil: plain text
}

// dial returns errors that say what to do. A certificate's name is checked against
// that of the address.
func (d dialer) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, network, addr)
	if err != nil {
		return nil, adviseConnect(err)
	}
	if d.tls == nil {
		return conn, nil
	}
	secured, err := handshake(ctx, conn, d.tls, addr)
	if err != nil {
		_ = conn.Close()
		return nil, adviseHandshake(err, addr)
	}
	return secured, nil
}

func handshake(ctx context.Context, conn net.Conn, c *tls.Config, addr string) (net.Conn, error) {
	if c.ServerName == "" {
		host, _, err := net.SplitHostPort(addr)
		if err != nil {
			return nil, err
		}
		c = c.Clone()
		c.ServerName = host
	}
	secured := tls.Client(conn, c)
	return secured, secured.HandshakeContext(ctx)
}

func adviseConnect(err error) error {
	var unknown *net.DNSError
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("%w; start redis there, or correct the address", err)
	case errors.As(err, &unknown):
		return fmt.Errorf("%w; correct the name in the address", err)
	}
	return err
}

func adviseHandshake(err error, addr string) error {
	var (
		untrusted *tls.CertificateVerificationError
		plain     tls.RecordHeaderError
		refused   tls.AlertError
	)
	switch {
	case errors.As(err, &untrusted):
		return fmt.Errorf("%w; name the authority that signed the certificate of %s, and an address that stands in it", err, addr)
	case errors.As(err, &refused):
		return fmt.Errorf("TLS with %s: %w; the server refuses this client: look at its log, tls-protocols and tls-auth-clients", addr, err)
	// A Redis that speaks plain text hangs up or waits for the end of a line.
	case errors.As(err, &plain), errors.Is(err, io.EOF), errors.Is(err, context.DeadlineExceeded), errors.Is(err, syscall.ECONNRESET):
		return fmt.Errorf("TLS with %s: %w; is that its tls-port? where it speaks plain text, turn TLS off", addr, err)
	}
	return fmt.Errorf("TLS with %s: %w", addr, err)
}
