package main

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// passwordFile is where the server leaves the password it made for root, in its data folder.
const passwordFile = "root-password"

// probeTimeout is how long the question whether a server speaks TLS may take.
const probeTimeout = 2 * time.Second

// findRootPassword fills in root's password for the built-in catalogue; the other sources hold it themselves.
func (o *options) findRootPassword() error {
	switch {
	case o.catalog.RootPassword != "":
		o.rootFrom = "ROOT_PASSWORD or -root-password"
		return nil
	case o.catalog.Dir != "" || o.catalog.DB.Host != "":
		o.rootFrom = "the catalogue"
		return nil
	case o.given["compare"] || o.given["soak"]:
		o.catalog.RootPassword = rand.Text() // its servers are started with it
		return nil
	}
	o.rootFrom = filepath.Join(o.data, passwordFile)
	text, err := os.ReadFile(o.rootFrom)
	if err != nil {
		return fmt.Errorf("%w: cannot read root's password: %w; set ROOT_PASSWORD as for the server, or -data to its folder",
			errUsage, err)
	}
	o.catalog.RootPassword = strings.TrimSpace(string(text))
	return nil
}

// tlsConfig is how connections are encrypted with -tls: any certificate will do, unless a file of -tls-ca says which.
func tlsConfig(caFile string) (*tls.Config, error) {
	if caFile == "" {
		return &tls.Config{InsecureSkipVerify: true}, nil
	}
	text, err := os.ReadFile(caFile)
	if err != nil {
		return nil, fmt.Errorf("%w: cannot read -tls-ca: %w", errUsage, err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%w: -tls-ca %s has no certificate in PEM", errUsage, caFile)
	}
	return &tls.Config{RootCAs: pool}, nil
}

// dial opens a connection, encrypted when there is a config.
func dial(ctx context.Context, dialer net.Dialer, server string, config *tls.Config) (net.Conn, error) {
	if config == nil {
		return dialer.DialContext(ctx, "tcp", server)
	}
	return (&tls.Dialer{NetDialer: &dialer, Config: config}).DialContext(ctx, "tcp", server)
}

// speaksTLS reports whether a server completes a TLS handshake.
func speaksTLS(ctx context.Context, server string) bool {
	conn, err := dial(ctx, net.Dialer{Timeout: probeTimeout}, server, &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		return false
	}
	conn.Close()
	return true
}
