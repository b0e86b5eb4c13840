package limits

// Every key of the rate limits:
//
//	limit_{<event>:<feature>:<value>}:<tick>  string  when calls were counted, to a tick in   the longest
//	                                                  milliseconds, see log.lua               window
//	limit_lifted                              stream  the last liftsMax values of which a     liftsKept after
//	                                                  block was lifted: event, feature, value the last
//	limit_probe                               string  written where no event could be counted a minute
//
// <value> is the text that was given, or, where it is longer than valueKeyMax bytes or has a brace, #
// and its SHA-256 in hexadecimal. All keys of a value share a hash tag. On Redis Cluster each value is asked
// about in a call of its own (Config.Cluster).
const (
	keyPrefix = "limit_"
	liftsKey  = "limit_lifted"
	probeKey  = "limit_probe"

	valueKeyMax = 64 // bytes
)
