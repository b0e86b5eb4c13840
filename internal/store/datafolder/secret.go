package datafolder

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
)

const (
	// SecretBytes is the size of the token secret.
	SecretBytes = 32
	// A secret made by hand may be longer, up to this size of the file in bytes.
	secretFileMost = 4096
)

// TokenSecret returns the secret under which tokens are signed, at least 32 bytes. It is random, made at
// the first call and kept as hexadecimal text in a file of mode 0600; callers in several processes at the
// same moment all get the same one. A file that others may read, or that is too short, is refused.
func (f *Folder) TokenSecret() ([]byte, error) {
	path := f.File(tokenSecretName)
	secret, err := f.readSecret()
	if errors.Is(err, fs.ErrNotExist) {
		if err := f.makeSecret(path); err != nil {
			return nil, fmt.Errorf("cannot make token secret: %w", err)
		}
		secret, err = f.readSecret()
	}
	return secret, err
}

func (f *Folder) makeSecret(path string) error {
	secret := make([]byte, SecretBytes)
	rand.Read(secret)
	draft, err := f.draft(tokenSecretName, hex.EncodeToString(secret))
	if err != nil {
		return err
	}
	defer os.Remove(draft)
	// A link appears whole and never replaces: of several makers the first wins and the others read its
	// secret.
	if err := os.Link(draft, path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

func (f *Folder) readSecret() ([]byte, error) {
	path := f.File(tokenSecretName)
	file, err := f.OpenFile(tokenSecretName, os.O_RDONLY)
	if err != nil {
		return nil, fmt.Errorf("cannot read token secret: %w", err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, fmt.Errorf("cannot read token secret: %w", err)
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return nil, fmt.Errorf("token secret %s is open to other users (mode %04o); run chmod 600 on it, or "+
			"remove it to have a new one made, which logs everyone out",
			path, mode)
	}
	text, err := io.ReadAll(io.LimitReader(file, secretFileMost+1))
	if err != nil {
		return nil, fmt.Errorf("cannot read token secret: %w", err)
	}
	if len(text) > secretFileMost {
		return nil, fmt.Errorf("token secret %s has more than %d characters; remove it to have a new one made, "+
			"which logs everyone out", path, secretFileMost)
	}
	secret, err := hex.DecodeString(strings.TrimSpace(string(text)))
	if err != nil {
		return nil, fmt.Errorf("token secret %s is not hexadecimal text; remove it to have a new one made, "+
			"which logs everyone out", path)
	}
	if len(secret) < SecretBytes {
		return nil, fmt.Errorf("token secret %s has %d bytes, the least is %d; remove it to have a new one "+
			"made, which logs everyone out",
			path, len(secret), SecretBytes)
	}
	return secret, nil
}
