package live

// Every key of the room. All have one hash tag, so that on Redis Cluster they lie on one node. write.lua
// writes them, and describes what they hold:
//
//	{live}<sale>          hash        the figures of all servers: current, all, and   keptFor after the last
//	                                  <step>:<place>, see tiers                       second
//	{live}<sale>:servers  hash        what each server had counted at its last        the same
//	                                  second, by the server
//	{live}<sale>:seen     sorted set  the last second of each server                  the same
//
// When a server takes over the next sale, it deletes the keys of the sale before.
const (
	// HashTag is in all keys of the room.
	HashTag = "{live}"

	serversSuffix = ":servers"
	seenSuffix    = ":seen"
)

// keysOf returns the keys of a sale.
func keysOf(sale string) []string {
	key := HashTag + sale
	return []string{key, key + serversSuffix, key + seenSuffix}
}
