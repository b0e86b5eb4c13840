package listener

import (
	"crypto/tls"
	"fmt"
	"io"
	"os"
	"time"
)

// pemBytesMax limits each file of a certificate. A chain has some thousand bytes.
const pemBytesMax = 64 << 10

// Certificate is a certificate chain and its key, both in PEM. The supervisor hands it to the workers, which
// do not read the files: a replacement of the files may be half done when a worker restarts. The zero value
// is no certificate.
type Certificate struct{ Chain, Key []byte }

// ReadCertificate reads a chain and its key. It refuses a certificate that cannot be served: files without a
// chain or a key, a key of another chain, and a chain that has expired or is not valid yet. Two empty names
// give the zero Certificate. No error contains the key.
func ReadCertificate(chainFile, keyFile string) (Certificate, error) {
	if chainFile == "" && keyFile == "" {
		return Certificate{}, nil
	}
	chain, err := readPEM(chainFile)
	if err != nil {
		return Certificate{}, fmt.Errorf("cannot read certificate: %w", err)
	}
	key, err := readPEM(keyFile)
	if err != nil {
		return Certificate{}, fmt.Errorf("cannot read key of certificate: %w", err)
	}
	pair, err := tls.X509KeyPair(chain, key)
	if err != nil {
		return Certificate{}, fmt.Errorf("cannot use certificate %s with key %s: %w", chainFile, keyFile,
			err)
	}
	if end := pair.Leaf.NotAfter; time.Now().After(end) {
		return Certificate{}, fmt.Errorf("cannot use certificate %s: it has expired on %s",
			chainFile, end.Format(time.DateOnly))
	}
	if begin := pair.Leaf.NotBefore; time.Now().Before(begin) {
		return Certificate{}, fmt.Errorf("cannot use certificate %s: it is valid from %s on",
			chainFile, begin.Format(time.RFC3339))
	}
	return Certificate{chain, key}, nil
}

func readPEM(name string) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, pemBytesMax+1))
	if err == nil && len(text) > pemBytesMax {
		err = fmt.Errorf("%s has more than %d bytes", name, pemBytesMax)
	}
	return text, err
}

// suites are the ciphers of TLS 1.2: those of Go without CBC, which is open to attacks. TLS 1.3 has no CBC.
var suites = []uint16{
	tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
	tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
	tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
}

// Expires returns when the certificate ends, the zero time for the zero value.
func (c Certificate) Expires() time.Time {
	pair, err := tls.X509KeyPair(c.Chain, c.Key)
	if err != nil {
		return time.Time{}
	}
	return pair.Leaf.NotAfter
}

// TLS returns the configuration of a server with the certificate: TLS 1.2 or 1.3, with authenticated
// encryption. Without a certificate it is nil, for plain HTTP.
func (c Certificate) TLS() (*tls.Config, error) {
	if len(c.Chain) == 0 {
		return nil, nil
	}
	pair, err := tls.X509KeyPair(c.Chain, c.Key)
	if err != nil {
		return nil, fmt.Errorf("cannot use certificate: %w", err)
	}
	return &tls.Config{
		Certificates: []tls.Certificate{pair},
		MinVersion:   tls.VersionTLS12,
		CipherSuites: suites,
		// A client that offers HTTP/2 learns here that there is only HTTP/1.1.
		NextProtos: []string{"http/1.1"},
	}, nil
}
