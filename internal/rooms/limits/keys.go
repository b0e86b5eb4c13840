package limits

// Every key of the rate limits:
//
//	limit_{<event>:<feature>:<value>}:<tick>  string  when calls were counted, to a tick in   the longest
//	                                                  milliseconds, see log.lua               window
//	limit_{login_failed:user:<slot>}@<network>:<tick>
//	                                          string  the same of guesses from a network      the same
//	limit_{login_failed:user:<slot>}:seats    zset    the networks that have such a key, by   liftsKept
//	                                                  the time of the last guess              after it
//	limit_known_<n>                           hash    networks from which the n-th knownUsers knownFor after
//	                                                  users logged in, see known.go           the last
//	limit_lifted                              stream  the last liftsMax lifts of blocks:      liftsKept after
//	                                                  event, feature, value                   the last
//	limit_probe                               string  written where no event could be counted a minute
//
// <value> is the text that was given, or, where it is longer than valueKeyMax bytes or has a brace, #
// and its SHA-256 in hexadecimal. Of an address in the events of this server, and of a name in login_failed,
// it is the slot that the value shares with others: "#" and four hexadecimal digits. All keys of a value
// share a hash tag. On Redis Cluster each value is asked about in a call of its own (Config.Cluster).
const (
	keyPrefix = "limit_"
	liftsKey  = "limit_lifted"
	probeKey  = "limit_probe"

	knownPrefix = "limit_known_"

	valueKeyMax = 64 // bytes
)
