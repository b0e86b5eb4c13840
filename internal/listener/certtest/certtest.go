// Package certtest makes certificates for tests of TLS.
package certtest

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

// Certificate is a self-signed certificate for 127.0.0.1 in files.
type Certificate struct {
	ChainFile, KeyFile string
	Leaf               *x509.Certificate
}

// Trust is the configuration of a client that trusts these certificates and no others.
func Trust(certificates ...Certificate) *tls.Config {
	pool := x509.NewCertPool()
	for _, c := range certificates {
		pool.AddCert(c.Leaf)
	}
	return &tls.Config{RootCAs: pool, ServerName: "127.0.0.1"}
}

// Write writes a certificate that ends at the time end into a folder, over the one that is there.
func Write(tb testing.TB, folder string, end time.Time) Certificate {
	tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	fatal(tb, err)
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	fatal(tb, err)
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "flashsale"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore:   end.Add(-24 * time.Hour), NotAfter: end,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	fatal(tb, err)
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	fatal(tb, err)
	c := Certificate{ChainFile: filepath.Join(folder, "chain.pem"),
		KeyFile: filepath.Join(folder, "key.pem")}
	c.Leaf, err = x509.ParseCertificate(der)
	fatal(tb, err)
	fatal(tb, os.WriteFile(c.ChainFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		0o644))
	fatal(tb, os.WriteFile(c.KeyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}),
		0o600))
	return c
}

func fatal(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}
