package catalog

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
)

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
