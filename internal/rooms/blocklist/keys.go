package blocklist

import (
	"fmt"
)

// Every key of the room. The hash tag puts all of them on one node of a cluster.
//
//	{blocklist}_newest        hash    generation, imported (Unix ms),     for ever     publish.lua,
//	                                  pieces, bytes of the snapshot                    withdraw.lua
//	{blocklist}_<generation>  string  a piece of that snapshot, from 0    draftTTL,    share.go,
//	_<piece>                                                              then ever,   publish.lua,
//	                                                                      in the end   withdraw.lua
//	                                                                      oldTTL
const (
	// HashTag is in all keys of the room.
	HashTag = "{blocklist}"

	newestKey   = HashTag + "_newest"
	piecePrefix = HashTag + "_"
)

func pieceKey(generation string, piece int) string {
	return fmt.Sprintf("%s%s_%d", piecePrefix, generation, piece)
}
