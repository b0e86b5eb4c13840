package datafolder

import (
	"bytes"
	"encoding/hex"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"flashsale/internal/testkit"
)

// fuzzFolder is the folder in which the fuzzer writes files, one for all its inputs.
func fuzzFolder(f *testing.F) *Folder {
	folder, err := Open(filepath.Join(f.TempDir(), "data"))
	testkit.Must(f, err)
	return folder
}

// FuzzTokenSecret reads any text as the file of the secret. What is accepted is what the text says, and
// what is refused is not told to the log.
func FuzzTokenSecret(f *testing.F) {
	for _, text := range []string{
		strings.Repeat("5e", SecretBytes) + "\n", strings.Repeat("5E", SecretBytes-1), "", "\n",
		" " + strings.Repeat("ab", 100) + " \r\n", strings.Repeat("x", 64),
	} {
		f.Add([]byte(text))
	}
	folder := fuzzFolder(f)
	testkit.AddSeeds[[]byte](f)
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) > secretFileMost {
			return
		}
		testkit.WriteFile(t, folder.File(tokenSecretName), string(text))
		secret, err := folder.TokenSecret()
		trimmed := strings.TrimSpace(string(text))
		want, wantErr := hex.DecodeString(trimmed)
		if good := wantErr == nil && len(want) >= SecretBytes; good != (err == nil) || good &&
			!bytes.Equal(secret, want) {
			t.Errorf("%q: secret %x, %v", text, secret, err)
		}
		if err != nil && len(trimmed) >= SecretBytes && strings.Contains(err.Error(), trimmed) {
			t.Errorf("the error shows the secret: %v", err)
		}
	})
}

// FuzzSale reads any text as the file that remembers the sale: what is accepted is what WriteSale writes.
func FuzzSale(f *testing.F) {
	f.Add([]byte("zv2hq6ya /run/redis.sock\n"))
	f.Add([]byte("zv2hq6ya"))
	f.Add([]byte("a b c"))
	f.Add([]byte{})
	folder := fuzzFolder(f)
	testkit.AddSeeds[[]byte](f)
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) > saleMost {
			return
		}
		testkit.WriteFile(t, folder.SalePath(), string(text))
		served, err := folder.Served()
		switch {
		case err != nil:
			if served != (Served{}) {
				t.Errorf("%q is refused and read as %+v", text, served)
			}
		case string(text) != served.Sale+" "+served.Redis+"\n" || len(served.Sale) != 8 || served.Redis == "":
			t.Errorf("%q is read as %+v", text, served)
		}
	})
}

// FuzzOwner reads any text as the lock file: an owner is found only where a whole line names it.
func FuzzOwner(f *testing.F) {
	for _, text := range []string{"123\n", "123", "\n", "-1\n", "99999999999999999999\n", "12\n34\n", "+7\n",
		"0x10\n", ""} {
		f.Add([]byte(text))
	}
	path := filepath.Join(f.TempDir(), lockName)
	f.Fuzz(func(t *testing.T, text []byte) {
		testkit.WriteFile(t, path, string(text))
		file, err := os.Open(path)
		testkit.Must(t, err)
		defer file.Close()
		owner := readOwner(file)
		line, _, whole := strings.Cut(string(text), "\n")
		if said, err := strconv.Atoi(line); owner != 0 && (!whole || err != nil || owner != said) {
			t.Errorf("%q names process %d", text, owner)
		}
	})
}
