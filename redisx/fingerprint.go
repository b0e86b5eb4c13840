package redisx

import "strings"

// Fingerprint is what servers of one sale must agree on, under one of a server's token secrets: each 16 hex
// digits that tell nothing of what they were made of. Only those under the same secret can be compared.
type Fingerprint struct {
	Secret string // of the token secret
	Root   string // of root's password, keyed by the secret
	Users  string // of all other users, keyed by the secret
}

// Differences is what a server that joins has not in common with the one that joined the sale before it.
type Differences struct {
	TheyRefuse bool // the others refuse tokens and carts that this one signs
	WeRefuse   bool // this one refuses tokens and carts that another signs
	Root       bool // root's password
	Users      bool // the other users
}

// The bits in which stock.lua returns them.
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

// encodeFingerprints writes them as stock.lua reads them.
func encodeFingerprints(list []Fingerprint) string {
	var texts []string
	for _, f := range list {
		texts = append(texts, f.Secret+":"+f.Root+":"+f.Users)
	}
	return strings.Join(texts, ",")
}
