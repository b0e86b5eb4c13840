package catalog

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"
)

// packer builds an image. Users go straight into the image's one growing buffer, because a second copy of
// a million of them would double the memory of a start.
type packer struct {
	key     [keyBytes]byte
	hasher  hasher
	image   []byte
	hasRoot bool
	root    digest
	others  digest
	table   string   // place.table of the users, for errors
	origins []uint64 // per user in the order of the source: id in the high half, row in the low half
}

func newPacker() *packer {
	p := &packer{}
	rand.Read(p.key[:])
	p.hasher = newHasher(p.key[:])

	var dummy [recordMin]byte
	rand.Read(dummy[recordHash:recordDocument])
	p.image = append(make([]byte, headerBytes), dummy[:]...)
	return p
}

// add appends a user; its row must have been checked.
func (p *packer) add(at place, user User) error {
	if user.ID == 1 {
		if user.Name != rootName {
			return fmt.Errorf("%v: user 1 is named %.40q; name it %s", at, user.Name, rootName)
		}
		p.hasRoot = true
		p.root.add(user)
	} else {
		p.others.add(user)
	}
	hash := p.hasher.hash([]byte(user.Name), []byte(user.Password))
	p.image = binary.LittleEndian.AppendUint32(p.image, user.ID)
	p.image = append(p.image, hash[:]...)
	p.image = binary.LittleEndian.AppendUint64(p.image, uint64(user.Document))
	p.image = append(p.image, byte(len(user.Name)))
	p.image = append(p.image, user.Name...)
	p.table = at.table
	p.origins = append(p.origins, uint64(user.ID)<<32|uint64(uint32(at.row)))
	return nil
}

// finish returns the image with its foods and slots, or the first name or id that two users share.
func (p *packer) finish(list foodList) ([]byte, error) {
	users, foods := len(p.origins), list.foods
	goods, err := list.goods.pack()
	if err != nil {
		return nil, err
	}
	l := layout{
		users:       uint32(users),
		foods:       uint32(len(foods)),
		recordBytes: uint64(len(p.image) - headerBytes),
		goodsBytes:  uint64(len(goods)),
		slotCount:   1 << bits.Len(uint(slotsPerUser*users-1)),
	}
	p.image = slices.Grow(p.image, int(l.imageBytes())-len(p.image))
	for _, food := range foods {
		p.image = binary.LittleEndian.AppendUint64(p.image, uint64(food.Stock))
		p.image = binary.LittleEndian.AppendUint64(p.image, uint64(food.Price))
	}
	p.image = append(p.image, goods...)
	p.image = append(p.image, make([]byte, slotBytes*l.slotCount)...)
	if err := p.fillSlots(l.records(p.image), l.slots(p.image)); err != nil {
		return nil, err
	}
	if err := p.checkIDs(); err != nil {
		return nil, err
	}
	l.put(p.image, p.key[:])
	return p.image, nil
}

func (p *packer) fillSlots(records, slots []byte) error {
	offset := recordMin
	for i := range p.origins {
		name := recordUser(records[offset:])
		slot, taken := probe(records, slots, name)
		if taken != dummyRecord {
			return fmt.Errorf("%v: name %.40q is also at %v; give each user a name of its own",
				p.at(i), name, p.at(position(records, taken)))
		}
		binary.LittleEndian.PutUint32(slots[slotBytes*slot:], uint32(offset))
		offset += recordMin + len(name)
	}
	return nil
}

// checkIDs sorts origins, so the row of a user cannot be found by position afterwards.
func (p *packer) checkIDs() error {
	slices.Sort(p.origins)
	for i := 1; i < len(p.origins); i++ {
		if id := p.origins[i] >> 32; id == p.origins[i-1]>>32 {
			return fmt.Errorf("%v: user %d is also at %v; give each user an id of its own", p.at(i), id, p.at(i-1))
		}
	}
	return nil
}

func (p *packer) at(i int) place {
	return place{table: p.table, row: int(uint32(p.origins[i]))}
}

// position returns the number of the user with the record at offset, counted from 0 in the order of the
// source.
func position(records []byte, offset uint32) int {
	i := 0
	for next := recordMin; next != int(offset); i++ {
		next += recordMin + len(recordUser(records[next:]))
	}
	return i
}
