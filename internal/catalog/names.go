package catalog

import (
	"cmp"
	"encoding/binary"
	"slices"
)

// Names finds the names of users by their ids, which the catalogue itself cannot: it is made for logins.
type Names struct {
	records []byte
	users   []userRecord // by id
}

// userRecord is where the record of a user begins.
type userRecord struct{ id, offset uint32 }

// Names makes the Names of the catalogue. That looks at every user, and takes 8 bytes of memory for each.
func (c *Catalog) Names() *Names {
	n := &Names{records: c.layout.records(c.image), users: make([]userRecord, 0, c.layout.users)}
	for offset := uint32(recordMin); int(offset) < len(n.records); { // behind the dummy
		record := n.records[offset:]
		n.users = append(n.users, userRecord{binary.LittleEndian.Uint32(record), offset})
		offset += recordMin + uint32(record[recordName])
	}
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
