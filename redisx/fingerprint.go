package redisx

import "strings"

// Fingerprint describes the facts on which the servers of a sale must agree, for one of a server's token
// secrets. Each field has 16 hex digits that reveal nothing about the facts. Only fingerprints under the
// same secret can be compared.
type Fingerprint struct {
	Secret string // of the token secret
	Root   string // of root's password, keyed by the secret
	Users  string // of all other users, keyed by the secret
}

// Differences are what a server has otherwise than the server that joined the sale before.
type Differences struct {
	TheyRefuse bool // the other servers refuse tokens and carts that this one signs
	WeRefuse   bool // this server refuses tokens and carts that another one signs
	Root       bool // root's password
	Users      bool // the other users
}

// The bits of open.lua's differences.
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

// encodeFingerprints writes fingerprints for open.lua.
func encodeFingerprints(list []Fingerprint) string {
	var texts []string
	for _, f := range list {
		texts = append(texts, f.Secret+":"+f.Root+":"+f.Users)
	}
	return strings.Join(texts, ",")
}
