package repeats

// Every key of the room. All have one hash tag, so that on Redis Cluster they lie on one node:
//
//	repeats:{r}:t:<text>   sorted set  running total of the text by second  window + 1 min  record, sweep
//	repeats:{r}:sweeps     sorted set  texts with many entries by when to   window + 1 min  record, sweep
//	                                   sweep them, Unix s
//	repeats:{r}:e:<event>  string      "1": the event was received          24 h            receive
//	repeats:{r}:due        sorted set  events by when their reply is due,   for ever        receive, take,
//	                                   Unix ms; a lease ahead while sent                    settle
//	repeats:{r}:replies    hash        "peer:count:attempts" by event       for ever        as due
//	repeats:{r}:pace       string      when the next reply may go, Unix ms  1 s             take
//
// The last column names the Lua files. <text> and <event> are keyed hashes of 128 bits (names.go).
const (
	tag = "repeats:{r}:"

	textPrefix  = tag + "t:"
	eventPrefix = tag + "e:"
	sweepsKey   = tag + "sweeps"
	dueKey      = tag + "due"
	repliesKey  = tag + "replies"
	paceKey     = tag + "pace"
)
