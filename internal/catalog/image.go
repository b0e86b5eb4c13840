package catalog

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
)

// The image holds the whole catalogue in one piece without pointers: processes can share it and the
// garbage collector has nothing to walk. All integers are little-endian.
//
//	header   magic "flashcat"            8 bytes
//	         users                       uint32
//	         foods                       uint32
//	         records, in bytes           uint64
//	         slots                       uint64, a power of two, at least twice the users
//	         goods, in bytes             uint64
//	         key of the password hashes  32 bytes
//	records  one per user, back to back in the order of the source, after a dummy for unknown names:
//	         id                          uint32, 0 in the dummy
//	         hash of name and password   16 bytes, random in the dummy
//	         document                    uint64, 0 for none
//	         length of name              1 byte
//	         name                        that many bytes
//	foods    by id: stock, price         2 x uint64
//	goods    goodsList as JSON, of no bytes without goods
//	slots    open addressing by hash of name, linear probing: offset of the user's record, 0 if free
//	                                     uint32
const (
	imageMagic = "flashcat"

	headerUsers   = 8
	headerFoods   = 12
	headerRecords = 16
	headerSlots   = 24
	headerGoods   = 32
	headerKey     = 40
	headerBytes   = headerKey + keyBytes

	recordHash     = 4
	recordDocument = recordHash + hashBytes
	recordName     = recordDocument + documentBytes
	recordMin      = recordName + 1
	recordMax      = recordMin + nameBytesMax
	dummyRecord    = 0
	documentBytes  = 8
	foodBytes      = 16
	slotBytes      = 4
	slotsPerUser   = 2

	// The constant fails to compile if usersMax lets an offset pass 32 bits.
	_ = uint32(recordMin + usersMax*recordMax)
)

// layout is the decoded header.
type layout struct {
	users, foods           uint32
	recordBytes, slotCount uint64
	goodsBytes             uint64
}

func (l layout) records(image []byte) []byte {
	return image[headerBytes : headerBytes+l.recordBytes]
}

func (l layout) foodRows(image []byte) []byte {
	start := headerBytes + l.recordBytes
	return image[start : start+foodBytes*uint64(l.foods)]
}

func (l layout) goods(image []byte) []byte {
	return image[l.slotsStart()-l.goodsBytes : l.slotsStart()]
}

func (l layout) slots(image []byte) []byte { return image[l.slotsStart():] }

func (l layout) slotsStart() uint64 {
	return headerBytes + l.recordBytes + foodBytes*uint64(l.foods) + l.goodsBytes
}

func (l layout) imageBytes() uint64 { return l.slotsStart() + slotBytes*l.slotCount }

func (l layout) put(header []byte, key []byte) {
	copy(header, imageMagic)
	binary.LittleEndian.PutUint32(header[headerUsers:], l.users)
	binary.LittleEndian.PutUint32(header[headerFoods:], l.foods)
	binary.LittleEndian.PutUint64(header[headerRecords:], l.recordBytes)
	binary.LittleEndian.PutUint64(header[headerSlots:], l.slotCount)
	binary.LittleEndian.PutUint64(header[headerGoods:], l.goodsBytes)
	copy(header[headerKey:headerBytes], key)
}

// readLayout decodes the header and checks the length of the image against it. More is not needed: File
// seals what Load has made.
func readLayout(image []byte) (layout, error) {
	if len(image) < headerBytes || string(image[:headerUsers]) != imageMagic {
		return layout{}, errors.New("not a catalogue image")
	}
	l := layout{
		users:       binary.LittleEndian.Uint32(image[headerUsers:]),
		foods:       binary.LittleEndian.Uint32(image[headerFoods:]),
		recordBytes: binary.LittleEndian.Uint64(image[headerRecords:]),
		slotCount:   binary.LittleEndian.Uint64(image[headerSlots:]),
		goodsBytes:  binary.LittleEndian.Uint64(image[headerGoods:]),
	}
	if l.imageBytes() != uint64(len(image)) {
		return layout{}, fmt.Errorf("catalogue image of %d bytes does not match its header", len(image))
	}
	return l, nil
}

// view makes a Catalog of an image, which must not change afterwards.
func view(image []byte) (*Catalog, error) {
	l, err := readLayout(image)
	if err != nil {
		return nil, err
	}
	c := &Catalog{image: image, layout: l, hasher: newHasher(image[headerKey:headerBytes])}
	rows := l.foodRows(image)
	c.foods = make([]Food, l.foods)
	for i := range c.foods {
		row := rows[foodBytes*i:]
		c.foods[i] = Food{
			ID:    int64(i + 1),
			Stock: int64(binary.LittleEndian.Uint64(row)),
			Price: int64(binary.LittleEndian.Uint64(row[8:])),
		}
	}
	if goods := l.goods(image); len(goods) > 0 {
		if err := json.Unmarshal(goods, &c.goods); err != nil {
			return nil, fmt.Errorf("catalogue image has broken goods: %w", err)
		}
	}
	return c, nil
}

// probe returns the slot where name is or belongs, and the offset of its record: dummyRecord if the name
// is unknown.
func probe(records, slots, name []byte) (slot uint64, offset uint32) {
	mask := uint64(len(slots)/slotBytes) - 1
	for slot = nameHash(name) & mask; ; slot = (slot + 1) & mask {
		offset = binary.LittleEndian.Uint32(slots[slotBytes*slot:])
		if offset == dummyRecord || string(recordUser(records[offset:])) == string(name) {
			return slot, offset
		}
	}
}

// recordUser returns the name in the record at the start of records.
func recordUser(records []byte) []byte {
	return records[recordMin : recordMin+int(records[recordName])]
}

// nameHash is FNV-1a. It needs no key: names come from the catalogue, a client cannot add one.
func nameHash(name []byte) uint64 {
	hash := uint64(14695981039346656037)
	for _, b := range name {
		hash = (hash ^ uint64(b)) * 1099511628211
	}
	return hash ^ hash>>32 // the low bits alone, which pick the slot, are the weaker half
}
