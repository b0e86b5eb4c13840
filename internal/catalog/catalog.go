// Package catalog knows the users and the foods of a sale: built in, from CSV files, or from MySQL tables.
//
// It reads the source once, refuses it whole at the first bad row, and packs it into one flat image of bytes
// (image.go) that the supervisor shares with every worker process. It knows nothing of sold pieces: the
// catalogue never changes after Load. It must never keep, log or return a password. Only Read returns
// passwords, to programs that log in.
//
// Load is slow with many users, because it hashes their passwords, and belongs to the start of a server;
// Map takes no time, and Authenticate costs four blocks of SHA-256 and no allocation.
package catalog

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/binary"
	"encoding/hex"
)

// Food is one food as it stands before the sale. ID counts from 1 without gaps; Stock is in pieces. Price is
// that of a piece: in the minor unit of the currency, such as cents, or a plain number without a currency.
type Food struct{ ID, Stock, Price int64 }

// User is one user with the plain password. IDs are 1 to 4294967295, names are unique; user 1 is root.
type User struct {
	ID             uint32
	Name, Password string
	Document       Document
}

// Document is a user's passport: 0 for none, else 1 plus its series times a million plus its number.
type Document uint64

// Passport returns the series times a million plus the number. ok is false without a passport.
func (d Document) Passport() (passport uint64, ok bool) { return uint64(d) - 1, d != 0 }

// Catalog is an immutable catalogue, safe for concurrent use: a view of one image of bytes.
type Catalog struct {
	image  []byte
	layout layout
	foods  []Food
	goods  goodsList
	hasher hasher

	root, others digest    // of root and of all other users; only Load knows them
	cutOff       error     // see CutOff
	pictures     []Picture // see Pictures
}

// Foods returns all foods by id: Foods()[id-1]. The slice is shared; callers must not change it.
func (c *Catalog) Foods() []Food { return c.foods }

// CutOff returns why the source was most likely cut off within its last row, nil if it was not. Only a
// catalogue of Load knows it.
func (c *Catalog) CutOff() error { return c.cutOff }

// Users returns the number of users.
func (c *Catalog) Users() int { return int(c.layout.users) }

// Authenticate returns the id and the document of the user with this name and password. ok is false when
// either is wrong; callers cannot learn which. An unknown name, or one too long, costs the same hashing as a
// wrong password.
func (c *Catalog) Authenticate(name, password []byte) (userID uint32, document Document, ok bool) {
	records, slots := c.layout.records(c.image), c.layout.slots(c.image)
	_, offset := probe(records, slots, name)
	entry := records[offset:] // for an unknown name the dummy record, which has a random hash

	given := c.hasher.hash(name, password)
	same := subtle.ConstantTimeCompare(given[:], entry[recordHash:recordDocument]) == 1
	fits := len(name) <= nameBytesMax && len(password) <= passwordBytesMax
	if offset == dummyRecord || !same || !fits {
		return 0, 0, false
	}
	return binary.LittleEndian.Uint32(entry), Document(binary.LittleEndian.Uint64(entry[recordDocument:])), true
}

// UserOf returns the id of the user with this name. Its time may reveal whether the name exists: do not use
// it in answers to clients.
func (c *Catalog) UserOf(name []byte) (userID uint32, found bool) {
	records := c.layout.records(c.image)
	_, offset := probe(records, c.layout.slots(c.image), name)
	if offset == dummyRecord {
		return 0, false
	}
	return binary.LittleEndian.Uint32(records[offset:]), true
}

// EachName calls visit with each name. The bytes must not change.
func (c *Catalog) EachName(visit func(name []byte)) {
	c.eachRecord(func(_ uint32, record []byte) { visit(recordUser(record)) })
}

// eachRecord calls visit with each user's record and all that follows it, and where it begins.
func (c *Catalog) eachRecord(visit func(offset uint32, record []byte)) {
	records := c.layout.records(c.image)
	for offset := uint32(recordMin); int(offset) < len(records); { // behind the dummy
		record := records[offset:]
		visit(offset, record)
		offset += recordMin + uint32(record[recordName])
	}
}

// highestID is the highest id of a user. It reads every user.
func (c *Catalog) highestID() (highest uint32) {
	c.eachRecord(func(_ uint32, record []byte) { highest = max(highest, binary.LittleEndian.Uint32(record)) })
	return highest
}

// Fingerprint returns 16 hex digits of a hash over id, price and stock of all foods, and over their
// currency: servers of one sale must agree.
func (c *Catalog) Fingerprint() string {
	hash := sha256.New()
	var row [24]byte
	for _, food := range c.foods {
		binary.LittleEndian.PutUint64(row[0:], uint64(food.ID))
		binary.LittleEndian.PutUint64(row[8:], uint64(food.Price))
		binary.LittleEndian.PutUint64(row[16:], uint64(food.Stock))
		hash.Write(row[:])
	}
	hash.Write([]byte(c.goods.Currency)) // without one the fingerprint is that of the contest's foods
	return hex.EncodeToString(hash.Sum(nil)[:8])
}

const fingerprintBytes = 8

// digest is a hash over users that does not depend on their order, which a database is free to change: the
// sum of their hashes in four lanes. It never leaves this process; Fingerprints puts it under a key.
type digest [4]uint64

func (d *digest) add(user User) {
	row := binary.LittleEndian.AppendUint32(make([]byte, 0, 64), user.ID)
	row = append(row, byte(len(user.Name)))
	row = append(row, user.Name...)
	row = binary.LittleEndian.AppendUint64(row, uint64(user.Document))
	sum := sha256.Sum256(append(row, user.Password...))
	for i := range d {
		d[i] += binary.LittleEndian.Uint64(sum[8*i:])
	}
}

// under returns 16 hex digits of the digest's HMAC-SHA256.
func (d *digest) under(key []byte, kind string) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(kind))
	for _, lane := range d {
		mac.Write(binary.LittleEndian.AppendUint64(nil, lane))
	}
	return hex.EncodeToString(mac.Sum(nil)[:fingerprintBytes])
}

// UserFingerprints returns 16 hex digits each for root's password and for ids, names and passwords of all
// other users. Two servers have the same ones if their fingerprints under a key are equal; without the
// key a fingerprint shows nothing. The catalogue must come from Load.
func (c *Catalog) UserFingerprints(key []byte) (root, users string) {
	return c.root.under(key, "root"), c.others.under(key, "users")
}
