package limits

// Every key of the rate limits. All have one hash tag, so that on Redis Cluster they lie on one node:
//
//	{limit}<event>:<feature>:<value>:<tick>  string  when calls were counted, to a tick in   the longest
//	                                                 milliseconds, see log.lua               window
//	{limit}login_failed:user:<slot>@<network>:<tick>
//	                                         string  the same of guesses from a network      the same
//	{limit}login_failed:user:<slot>:seats    zset    the networks that have such a key, by   liftsKept
//	                                                 the time of the last guess              after it
//	{limit}_known_<n>                        hash    networks from which the n-th knownUsers knownFor after
//	                                                 users logged in, see known.go           the last
//	{limit}_lifted                           stream  the last liftsMax lifts of blocks:      liftsKept after
//	                                                 event, feature, value                   the last
//	{limit}_probe                            string  written where no event could be counted a minute
//
// <value> is the text that was given, or, where it is longer than valueKeyMax bytes, #
// and its SHA-256 in hexadecimal. Of an address in the events of this server, and of a name in login_failed
// and register, it is the slot that the value shares with others: "#" and four hexadecimal digits.
const (
	// HashTag is in all keys of the room.
	HashTag = "{limit}"

	keyPrefix = HashTag
	liftsKey  = keyPrefix + "_lifted"
	probeKey  = keyPrefix + "_probe"

	knownPrefix = keyPrefix + "_known_"

	valueKeyMax = 64 // bytes
)
