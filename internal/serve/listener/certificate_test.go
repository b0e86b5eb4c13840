package listener

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"flashsale/internal/serve/listener/certtest"
	"flashsale/internal/testkit"
)

func TestReadCertificate(t *testing.T) {
	if c, err := ReadCertificate("", ""); c.Chain != nil || err != nil {
		t.Errorf("no files: %v, %v", c, err)
	}
	good := certtest.Write(t, t.TempDir(), time.Now().Add(time.Hour))
	other := certtest.Write(t, t.TempDir(), time.Now().Add(time.Hour))
	expired := certtest.Write(t, t.TempDir(), time.Date(2020, 2, 29, 0, 0, 0, 0, time.UTC))
	huge := filepath.Join(t.TempDir(), "huge.pem")
	testkit.Must(t, os.WriteFile(huge, make([]byte, pemBytesMax+1), 0o600))
	c, err := ReadCertificate(good.ChainFile, good.KeyFile)
	if err != nil || !c.Expires().Equal(good.Leaf.NotAfter) {
		t.Errorf("%v; it ends %v, want %v", err, c.Expires(), good.Leaf.NotAfter)
	}
	if end := (Certificate{}).Expires(); !end.IsZero() {
		t.Errorf("no certificate ends %v", end)
	}
	for _, test := range []struct{ name, chain, key, want string }{
		{"no such chain", "/nowhere", good.KeyFile,
			"cannot read certificate: open /nowhere: no such file or directory"},
		{"no such key", good.ChainFile, "/nowhere",
			"cannot read key of certificate: open /nowhere: no such file or directory"},
		{"a folder", good.ChainFile, "/", "cannot read key of certificate: read /: is a directory"},
		{"too large", huge, good.KeyFile, "cannot read certificate: " + huge +
			" has more than 65536 bytes"},
		{
			"another's key", good.ChainFile, other.KeyFile,
			"cannot use certificate " + good.ChainFile + " with key " + other.KeyFile +
				": tls: private key does not match public key",
		},
		{
			"swapped", good.KeyFile, good.ChainFile,
			"cannot use certificate " + good.KeyFile + " with key " + good.ChainFile +
				`: tls: failed to find certificate PEM data in certificate input, ` +
				`but did find a private key; ` +
				`PEM inputs may have been switched`,
		},
		{"expired", expired.ChainFile, expired.KeyFile,
			"cannot use certificate " + expired.ChainFile + ": it has expired on 2020-02-29"},
	} {
		if c, err := ReadCertificate(test.chain, test.key); err == nil || err.Error() != test.want ||
			c.Chain != nil {
			t.Errorf("%s:\n got %v\nwant %s", test.name, err, test.want)
		}
	}
}
