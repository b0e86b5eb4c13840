package redisx

import "strings"

// Fingerprint is what the servers of one sale must agree on, under one of a server's token secrets. Each
// field has 16 hex digits that reveal nothing of what they were made of. Only fingerprints under the same
// secret can be compared.
type Fingerprint struct {
	Secret string // of the token secret
	Root   string // of root's password, keyed by the secret
	Users  string // of all other users, keyed by the secret
}

// Differences is where a server that joins the sale differs from the one that joined before it.
type Differences struct {
	TheyRefuse bool // the others refuse tokens and carts that this one signs
	WeRefuse   bool // this one refuses tokens and carts that another signs
	Root       bool // root's password
	Users      bool // the other users
}

// The bits in which open.lua returns them.
const (
	differTheyRefuse = 1 << iota
	differWeRefuse
	differRoot
	differUsers
)

func readDifferences(bits int64) Differences {
	return Differences{
		TheyRefuse: bits&differTheyRefuse != 0,
		WeRefuse:   bits&differWeRefuse != 0,
		Root:       bits&differRoot != 0,
		Users:      bits&differUsers != 0,
	}
}

// encodeFingerprints writes them as open.lua reads them.
func encodeFingerprints(list []Fingerprint) string {
	var texts []string
	for _, f := range list {
		texts = append(texts, f.Secret+":"+f.Root+":"+f.Users)
	}
	return strings.Join(texts, ",")
}
