package repeats

import (
	_ "embed" // the parts

	"flashsale/redisx/pipeline"
)

// The scripts of the room. A part sees the locals of the part before it.
var (
	countScript   = pipeline.NewScript(recordLua + countLua)
	receiveScript = pipeline.NewScript(recordLua + receiveLua)
	sweepScript   = pipeline.NewScript(recordLua + sweepLua)
	takeScript    = pipeline.NewScript(recordLua + takeLua)
	settleScript  = pipeline.NewScript(recordLua + settleLua)
)

var (
	//go:embed record.lua
	recordLua string
	//go:embed count.lua
	countLua string
	//go:embed receive.lua
	receiveLua string
	//go:embed sweep.lua
	sweepLua string
	//go:embed take.lua
	takeLua string
	//go:embed settle.lua
	settleLua string
)
