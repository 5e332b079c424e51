package config

import (
	"crypto/tls"
	"crypto/x509"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestRedisTarget(t *testing.T) {
	dir := filepath.Join("..", "testdata", "config", "secrets")
	ca, password := filepath.Join(dir, "ca.pem"), filepath.Join(dir, "redis.password")
	l := mustLoad(t, "redis: {mode: single, addrs: [\"rediss://redis.internal:6380\"], username: rushgate, password_file: "+password+", ca_file: "+ca+", timeout: 500ms, conns: 7}\n", Options{})
	got, err := l.Config.Redis.Target()
	if err != nil {
		t.Fatal(err)
	}
	if got.Addr != "redis.internal:6380" || got.Username != "rushgate" || got.Password != "a long password" || got.Timeout != 500*time.Millisecond || got.Conns != 7 {
		t.Errorf("target %+v", got)
	}
	pem, err := os.ReadFile(ca)
	must(t, err)
	want := x509.NewCertPool()
	want.AppendCertsFromPEM(pem)
	if c := got.TLS; c == nil || c.MinVersion != tls.VersionTLS12 || c.ServerName != "redis.internal" || !c.RootCAs.Equal(want) || c.InsecureSkipVerify {
		t.Errorf("TLS %+v", got.TLS)
	}
}

func TestRedisTargetByAddress(t *testing.T) {
	for text, want := range map[string]struct {
		addr, server string // server: the name that its certificate must have; "" without TLS
	}{
		"127.0.0.1:6379":             {"127.0.0.1:6379", ""},
		"redis://redis.internal:1":   {"redis.internal:1", ""},
		"rediss://redis.internal:1":  {"redis.internal:1", "redis.internal"},
		"rediss://[2001:db8::5]:637": {"[2001:db8::5]:637", "2001:db8::5"},
	} {
		r := Redis{Mode: "single", Addrs: []string{text}}
		got, err := r.Target()
		if err != nil || got.Addr != want.addr || (got.TLS != nil) != (want.server != "") {
			t.Errorf("%s: %+v, %v", text, got, err)
			continue
		}
		if got.TLS != nil && (got.TLS.ServerName != want.server || got.TLS.RootCAs != nil) {
			t.Errorf("%s: TLS %+v", text, got.TLS)
		}
	}
}

func TestRedisTargetThatIsNone(t *testing.T) {
	single := Redis{Mode: "single", Addrs: []string{"rediss://127.0.0.1:1"}}
	noPassword, noCA := single, single
	noPassword.PasswordFile, noCA.CAFile = "/nowhere", "/nowhere"
	for want, r := range map[string]Redis{
		"redis.mode: single":   Default().Redis,
		"redis.addrs[0]":       {Mode: "single", Addrs: []string{"x"}},
		"redis.password_file:": noPassword,
		"redis.ca_file:":       noCA,
	} {
		if _, err := r.Target(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v does not name %s", err, want)
		}
	}
}
