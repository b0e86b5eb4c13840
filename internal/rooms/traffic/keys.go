package traffic

// Every key of the room. All have one hash tag, so that on Redis Cluster they lie on one node:
//
//	traffic:{t}:keys                 sorted set  id of each key, by its name              until it is deleted
//	traffic:{t}:<id>                 set         index: blocks of the key, see block.go   the same
//	traffic:{t}:<id>:<step>:<block>  hash        hits by bucket, 0 to 127                 the same
//	traffic:{t}:deleted              set         ids of deleted keys with blocks left     about a minute
//	traffic:{t}:state                hash        frontier of each step, cursor of the     for ever
//	                                             sweep, swept (its start, Unix seconds),
//	                                             top (first open slot), other (hits beyond
//	                                             -traffic-keys), ids (the last one), layout
//	                                             (tiers and zone), layout_seen (Unix seconds)
//	traffic:{t}:p:<process>          string      last chunk that a process has flushed    30 days
//	traffic:{t}:sold:<sale>          hash        pieces sold that are counted, by key     400 days
//	traffic:{t}:top:<slot>           sorted set  hits by key in five minutes              26 hours
const (
	// HashTag is in all keys of the room.
	HashTag = "{t}"

	tag = "traffic:" + HashTag + ":"

	stateKey      = tag + "state"
	namesKey      = tag + "keys"
	deletedKey    = tag + "deleted"
	processPrefix = tag + "p:"
	soldPrefix    = tag + "sold:"
	topPrefix     = tag + "top:"
)

func indexKey(id int64) string { return tag + itoa(id) }

func blockKey(id int64, b block) string {
	return tag + itoa(id) + ":" + itoa(int64(b.step)) + ":" + itoa(b.number)
}
