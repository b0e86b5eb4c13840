package accounts

import (
	"strconv"

	"flashsale/redisx/pipeline"
)

// Every key of the room. <tag> is the hash tag of a part: of the name's part for a name, of the user's part
// for a user, and of part 0 for the key that exists once. So each script names keys of one part.
//
//	account:<tag>:name:<folded>      hash        the account: id, name, hash, email,   for good   register,
//	                                             created and closed (Unix ms); the                password,
//	                                             truth                                            reset
//	account:<tag>:user:<id>          string      the name of a registered user         for good
//	account:<tag>:ids                string      how many ids were given               for good   new_id
//	account:<tag>:contacts:<user>    hash        contact -> "0" or "1" (blocked) and   for good   put_contact,
//	                                             the nickname                                     contacts
//	account:<tag>:blockers:<user>    set         who blocked this user                 for good   contacts
//
// The README has the limits and the bytes.
const keyPrefix = "account:"

func partKey(part int, rest string) string { return keyPrefix + pipeline.PartTag(part) + ":" + rest }

func nameKey(folded string) (part int, key string) {
	part = pipeline.PartOf(folded)
	return part, partKey(part, "name:"+folded)
}

func idText(user uint32) string { return strconv.FormatUint(uint64(user), 10) }

// userKey is a key of a kind of one user.
func userKey(kind string, user uint32) (part int, key string) {
	part = pipeline.PartOf(idText(user))
	return part, partKey(part, kind+":"+idText(user))
}

// The key that exists once lies in this part.
const onePart = 0

var idsKey = partKey(onePart, "ids")
