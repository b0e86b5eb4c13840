// Package certtest makes certificates for tests and drills of TLS.
package certtest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Certificate is a self-signed certificate for 127.0.0.1 in files.
type Certificate struct {
	ChainFile, KeyFile string
	Leaf               *x509.Certificate
}

// Trust is the configuration of a client that trusts only these certificates.
func Trust(certificates ...Certificate) *tls.Config {
	pool := x509.NewCertPool()
	for _, c := range certificates {
		pool.AddCert(c.Leaf)
	}
	return &tls.Config{RootCAs: pool, ServerName: "127.0.0.1"}
}

// Write writes a certificate that is valid until end into a folder, replacing the one there.
func Write(tb testing.TB, folder string, end time.Time) Certificate {
	tb.Helper()
	c, err := Make(folder, end)
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

// Make is Write for a program.
func Make(folder string, end time.Time) (c Certificate, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return c, err
	}
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		return c, err
	}
	begin := end // a day before it ends, or a day ago where it ends later
	if now := time.Now(); now.Before(begin) {
		begin = now
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "flashsale"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore:   begin.Add(-24 * time.Hour), NotAfter: end,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return c, err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return c, err
	}
	c = Certificate{ChainFile: filepath.Join(folder, "chain.pem"), KeyFile: filepath.Join(folder, "key.pem")}
	c.Leaf, err = x509.ParseCertificate(der)
	chain := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	secret := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})
	return c, errors.Join(err, os.WriteFile(c.ChainFile, chain, 0o644), os.WriteFile(c.KeyFile, secret, 0o600))
}
