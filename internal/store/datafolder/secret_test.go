package datafolder

import (
	"bytes"
	"encoding/hex"
	"os"
	"strings"
	"sync"
	"testing"

	"flashsale/internal/testkit"
)

func TestTokenSecretIsMadeOnce(t *testing.T) {
	const servers = 50
	path := t.TempDir()
	secrets := make([][]byte, servers)
	var together sync.WaitGroup
	for i := range servers {
		folder := open(t, path)
		together.Go(func() {
			secret, err := folder.TokenSecret()
			if err != nil {
				t.Error(err)
			}
			secrets[i] = secret
		})
	}
	together.Wait()
	for i, secret := range secrets {
		if len(secret) != SecretBytes || !bytes.Equal(secret, secrets[0]) {
			t.Errorf("server %d got %x, server 0 %x", i, secret, secrets[0])
		}
	}
	folder := open(t, path)
	wantMode(t, folder.File("token-secret"), 0o600)
	wantFiles(t, folder, "token-secret")
	if other, err := open(t, t.TempDir()).TokenSecret(); err != nil || bytes.Equal(other, secrets[0]) {
		t.Errorf("another folder has secret %x, %v, which must differ", other, err)
	}
}

func TestTokenSecretRefused(t *testing.T) {
	good := strings.Repeat("5e", SecretBytes)
	for name, c := range map[string]struct {
		text string
		mode os.FileMode
		want []string
	}{
		"readable by group":  {good, 0o640, []string{"open to other users (mode 0640)", "chmod 600"}},
		"readable by others": {good, 0o604, []string{"open to other users (mode 0604)", "chmod 600"}},
		"too short":          {good[2:], 0o600, []string{"has 31 bytes, the least is 32", "remove it"}},
		"empty":              {"", 0o600, []string{"has 0 bytes, the least is 32", "remove it"}},
		"not hexadecimal":    {good + "x", 0o600, []string{"not hexadecimal", "remove it"}},
	} {
		t.Run(name, func(t *testing.T) {
			folder := open(t, t.TempDir())
			path := folder.File("token-secret")
			testkit.Must(t, os.WriteFile(path, []byte(c.text), c.mode))
			_, err := folder.TokenSecret()
			testkit.Tells(t, err, append(c.want, path)...)
			if c.text != "" && strings.Contains(err.Error(), c.text) {
				t.Errorf("the error shows the secret: %v", err)
			}
		})
	}
}

func TestTokenSecretMadeByHand(t *testing.T) {
	folder := open(t, t.TempDir())
	want := bytes.Repeat([]byte{7}, 48)
	testkit.Must(t, os.WriteFile(folder.File("token-secret"), []byte(hex.EncodeToString(want)), 0o600))
	if got, err := folder.TokenSecret(); err != nil || !bytes.Equal(got, want) {
		t.Errorf("secret %x, %v; want %x", got, err, want)
	}
}
