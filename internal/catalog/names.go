package catalog

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
)

// Names finds the names of users by their ids, which the catalogue itself cannot: it is made for logins.
type Names struct {
	records []byte
	users   []userRecord // by id
}

// userRecord is where the record of a user begins.
type userRecord struct{ id, offset uint32 }

// Names makes the Names of the catalogue. It reads every user and takes 8 bytes of memory for each.
func (c *Catalog) Names() *Names {
	n := &Names{records: c.layout.records(c.image), users: make([]userRecord, 0, c.layout.users)}
	c.eachRecord(func(offset uint32, record []byte) {
		n.users = append(n.users, userRecord{binary.LittleEndian.Uint32(record), offset})
	})
	slices.SortFunc(n.users, func(a, b userRecord) int { return cmp.Compare(a.id, b.id) })
	return n
}

// Name is the name of a user, "" where the catalogue has no such user. The bytes must not change.
func (n *Names) Name(user uint32) []byte {
	i, found := slices.BinarySearchFunc(n.users, user, func(r userRecord, id uint32) int {
		return cmp.Compare(r.id, id)
	})
	if !found {
		return nil
	}
	return recordUser(n.records[n.users[i].offset:])
}

// Fingerprint tells lists of users apart: their number, and a hash over their ids and names.
func (n *Names) Fingerprint() string { return n.fingerprint(n.users) }

func (n *Names) fingerprint(users []userRecord) string {
	hash := sha256.New()
	var row []byte
	for _, user := range users {
		name := recordUser(n.records[user.offset:])
		row = binary.LittleEndian.AppendUint32(row[:0], user.id)
		row = append(append(row, byte(len(name))), name...)
		hash.Write(row)
	}
	return fmt.Sprintf("%d:%x", len(users), hash.Sum(nil)[:fingerprintBytes])
}

// Extends reports whether these are the users of a fingerprint, with or without new users of higher ids.
func (n *Names) Extends(fingerprint string) bool {
	var users int
	if _, err := fmt.Sscanf(fingerprint, "%d:", &users); err != nil || users < 0 || users > len(n.users) {
		return false
	}
	return n.fingerprint(n.users[:users]) == fingerprint
}

// Renamed returns the lowest id of a user of before who has another name here, 0 if there is no such user. A
// user who is missing here is not renamed.
func (n *Names) Renamed(before *Names) (user uint32) {
	for _, old := range before.users {
		name := n.Name(old.id)
		if name != nil && string(name) != string(recordUser(before.records[old.offset:])) {
			return old.id
		}
	}
	return 0
}
