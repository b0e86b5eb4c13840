package e2e

import (
	"crypto/tls"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"flashsale/internal/serve/listener/certtest"
	"flashsale/internal/testkit"
)

// serial is that of the certificate which a new connection sees.
func (s *server) serial(t *testing.T) string {
	t.Helper()
	c, err := tls.Dial("tcp", s.Address, s.trust)
	testkit.Must(t, err)
	defer c.Close()
	return c.ConnectionState().PeerCertificates[0].SerialNumber.String()
}

// awaitRoll sends SIGHUP and returns when the workers are replaced for the nth time.
func (s *server) awaitRoll(t *testing.T, n int) {
	t.Helper()
	s.Send(t, syscall.SIGHUP)
	testkit.Until(t, "end of the replacement", func() bool {
		return s.Logged(t, "all workers are replaced") == n
	})
}

// keyLines returns the lines that are secret in files of keys.
func keyLines(t *testing.T, files ...string) (lines []string) {
	t.Helper()
	for _, file := range files {
		for line := range strings.Lines(testkit.ReadFile(t, file)) {
			if !strings.HasPrefix(line, "-----") {
				lines = append(lines, strings.TrimSpace(line))
			}
		}
	}
	if len(lines) == 0 {
		t.Fatal("no key")
	}
	return lines
}

// A sale over HTTPS: the certificate is replaced without a request that fails, a broken one is not taken,
// and the key stays hidden.
func TestTLS(t *testing.T) {
	t.Parallel()
	testkit.Need(t, "redis-server")
	end := time.Now().Add(time.Hour)
	old, renewed := certtest.Write(t, testkit.Folder(t), end), certtest.Write(t, testkit.Folder(t), end)
	chain, key := old.ChainFile, old.KeyFile
	s := setup{args: append([]string{"-workers", "2", "-tls-cert", chain, "-tls-key", key},
		loadArgs...)}.serve(t)
	s.trust = certtest.Trust(old, renewed)
	if want := "curl -k https://" + s.Address + "/login"; !strings.HasPrefix(s.Banner(t, "try"), want) {
		t.Errorf("try %q, want %q first", s.Banner(t, "try"), want)
	}
	secrets := keyLines(t, key, renewed.KeyFile)
	l := startLoad(t, s, loadClients, true)
	if got := s.serial(t); got != old.Leaf.SerialNumber.String() {
		t.Errorf("certificate %s, want %s", got, old.Leaf.SerialNumber)
	}

	testkit.Must(t, os.Rename(renewed.ChainFile, chain))
	testkit.Must(t, os.Rename(renewed.KeyFile, key))
	s.awaitRoll(t, 1)
	l.awaitOrders(t, 50)
	testkit.WriteFile(t, key, "no key")
	s.awaitRoll(t, 2)
	l.awaitOrders(t, 50)
	for range 10 { // on all workers
		if got := s.serial(t); got != renewed.Leaf.SerialNumber.String() {
			t.Errorf("certificate %s, want %s", got, renewed.Leaf.SerialNumber)
		}
	}
	const bad = `"cannot read again; the old value stays" what=certificate`
	reason := fmt.Sprintf("cannot use certificate %s with key %s: "+
		"tls: failed to find any PEM data in key input", chain, key)
	if s.Logged(t, bad) != 1 || s.Logged(t, reason) != 1 {
		t.Errorf("the log does not say once that the bad certificate is not taken")
	}
	for _, line := range []string{"catalogue_read=true certificate_read=true operator=terminal\n",
		"catalogue_read=true certificate_read=false operator=terminal\n"} {
		if s.Logged(t, line) != 1 {
			t.Errorf("the log does not say once %q", line)
		}
	}

	l.checkFailures(t)
	l.audit(t, s)
	checkHidden(t, s, secrets...)
	plain := newClient(t, s.Address)
	if r, err := plain.Do("GET", "/healthz", ""); err == nil {
		t.Errorf("plain HTTP is answered with %d", r.Status)
	}
	s.End(t)
}
