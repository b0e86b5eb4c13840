package blocklist

import (
	_ "embed" // the parts

	"flashsale/redisx/pipeline"
)

// The scripts of the room.
var (
	publishScript  = pipeline.NewScript(publishLua)
	withdrawScript = pipeline.NewScript(withdrawLua)
)

var (
	//go:embed publish.lua
	publishLua string
	//go:embed withdraw.lua
	withdrawLua string
)
