package luatest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// StartTLS is Start of a server that speaks TLS only. Its certificate is good for
// 127.0.0.1, so also behind a [Wire], and signed by an authority of its own, which
// nothing trusts but [Server.TLS] and who reads [Server.CAFile].
func StartTLS(t testing.TB, args ...string) *Server {
	t.Helper()
	return (&Server{t: t, dir: t.TempDir(), args: args, cert: newCertificate(t)}).start()
}

// TLS is what a client needs to trust the server, a copy of its own; nil where the
// server speaks plain text.
func (s *Server) TLS() *tls.Config {
	if s.cert == nil {
		return nil
	}
	return s.cert.trust.Clone()
}

// CAFile is the PEM file with the authority that signed the server's certificate;
// empty where the server speaks plain text.
func (s *Server) CAFile() string {
	if s.cert == nil {
		return ""
	}
	return s.cert.ca
}

// certificate is one for a server, with the authority that signed it, as files.
type certificate struct {
	ca, leaf, key string
	trust         *tls.Config
}

// listen are the arguments that make a server listen at a port.
func (c *certificate) listen(port string) []string {
	if c == nil {
		return []string{"--port", port}
	}
	return []string{
		"--port", "0", "--tls-port", port, "--tls-auth-clients", "no",
		"--tls-cert-file", c.leaf, "--tls-key-file", c.key, "--tls-ca-cert-file", c.ca,
	}
}

func newCertificate(t testing.TB) *certificate {
	t.Helper()
	caKey, leafKey := newKey(t), newKey(t)
	authority := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "luatest authority"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "luatest redis-server"},
		NotBefore: authority.NotBefore, NotAfter: authority.NotAfter,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	secret, err := x509.MarshalPKCS8PrivateKey(leafKey)
	if err != nil {
		t.Fatalf("luatest: write a key: %v", err)
	}
	dir := t.TempDir()
	c := &certificate{ca: filepath.Join(dir, "ca.pem"), leaf: filepath.Join(dir, "server.pem"), key: filepath.Join(dir, "server.key")}
	ca := writePEM(t, c.ca, "CERTIFICATE", sign(t, authority, authority, caKey, caKey))
	writePEM(t, c.leaf, "CERTIFICATE", sign(t, leaf, authority, leafKey, caKey))
	writePEM(t, c.key, "PRIVATE KEY", secret)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	c.trust = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	return c
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatalf("luatest: make a key: %v", err)
	}
	return key
}

func sign(t testing.TB, c, by *x509.Certificate, key, byKey *ecdsa.PrivateKey) []byte {
	t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, c, by, &key.PublicKey, byKey)
	if err != nil {
		t.Fatalf("luatest: sign a certificate: %v", err)
	}
	return der
}

func writePEM(t testing.TB, name, kind string, der []byte) []byte {
	t.Helper()
	text := pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
	if err := os.WriteFile(name, text, 0o600); err != nil {
		t.Fatalf("luatest: write a certificate: %v", err)
	}
	return text
}
