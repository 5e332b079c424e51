package config

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"
)

// RedisTarget is all that a client needs to reach the one Redis.
type RedisTarget struct {
	Addr     string // host:port
	Username string // "": the default user
	Password string // "": none is sent
	TLS      *tls.Config
	Timeout  time.Duration // of a dial, and of a call without a sooner deadline
	Conns    int           // connections at most, of each use
}

// Target reads the files that r names and returns where and how Redis is
// reached. TLS is nil for an address without rediss. It is an error where the
// mode is memory, and where a file can't be read any more; a secret is read anew
// by each call.
func (r *Redis) Target() (RedisTarget, error) {
	if r.Mode == "memory" || len(r.Addrs) != 1 {
		return RedisTarget{}, errors.New("redis: there is none to reach; set redis.mode: single and one address in redis.addrs")
	}
	addr, overTLS, err := redisAddress(r.Addrs[0])
	if err != nil {
		return RedisTarget{}, fmt.Errorf("redis.addrs[0]: %w", err)
	}
	t := RedisTarget{Addr: addr, Username: r.Username, Timeout: time.Duration(r.Timeout), Conns: r.Conns}
	if r.PasswordFile != "" {
		password, err := ReadSecret(r.PasswordFile)
		if err != nil {
			return RedisTarget{}, fmt.Errorf("redis.password_file: %w", err)
		}
		t.Password = string(password)
	}
	if overTLS {
		if t.TLS, err = r.tls(addr); err != nil {
			return RedisTarget{}, fmt.Errorf("redis.ca_file: %w", err)
		}
	}
	return t, nil
}

// tls verifies the server's name against the system's certificates, or against
// CAFile alone.
func (r *Redis) tls(addr string) (*tls.Config, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: host}
	if r.CAFile == "" {
		return c, nil
	}
	pem, err := readBounded(r.CAFile, maxCertificates)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", r.CAFile, err)
	}
	if c.RootCAs, err = certificates(pem); err != nil {
		return nil, fmt.Errorf("%s: %w", r.CAFile, err)
	}
	return c, nil
}

func certificates(pem []byte) (*x509.CertPool, error) {
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, errors.New("holds no certificate in PEM")
	}
	return pool, nil
}

// redisAddress reads host:port, redis://host:port or rediss://host:port. What a
// URL could say beyond that has keys of its own, and a password in it would be
// shown where addresses are. So the text is not part of an error that follows
// from a user in it.
func redisAddress(text string) (addr string, overTLS bool, err error) {
	addr = text
	if scheme, rest, url := strings.Cut(text, "://"); url {
		if scheme != "redis" && scheme != "rediss" {
			return "", false, &valueError{quote(scheme) + " is no scheme of Redis", "write host:port, or rediss://host:port for TLS"}
		}
		addr, overTLS = rest, scheme == "rediss"
	}
	if strings.Contains(addr, "@") {
		return "", false, &valueError{"names a user or a password", "write host:port alone, the user in redis.username and the name of a file with the password in redis.password_file"}
	}
	if i := strings.IndexAny(addr, "/?#"); i >= 0 {
		return "", false, &valueError{quote(text) + " has a path", "write " + strings.TrimSuffix(text, addr[i:]) + "; Rushgate uses database 0"}
	}
	return addr, overTLS, hostPort(addr, "127.0.0.1:6379")
}
