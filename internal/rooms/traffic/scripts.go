package traffic

import (
	_ "embed" // the parts

	"flashsale/redisx/pipeline"
)

// The scripts of the room. A part sees the locals of the parts before it.
var (
	flushScript   = pipeline.NewScript(bucketLua + hitsLua + flushLua)
	soldScript    = pipeline.NewScript(bucketLua + hitsLua + soldLua)
	rollScript    = pipeline.NewScript(bucketLua + rollLua)
	forgetScript  = pipeline.NewScript(forgetLua)
	clearScript   = pipeline.NewScript(bucketLua + clearLua)
	advanceScript = pipeline.NewScript(advanceLua)
	sweptScript   = pipeline.NewScript(sweptLua)
	trimScript    = pipeline.NewScript(trimLua)
)

var (
	//go:embed bucket.lua
	bucketLua string
	//go:embed hits.lua
	hitsLua string
	//go:embed flush.lua
	flushLua string
	//go:embed sold.lua
	soldLua string
	//go:embed roll.lua
	rollLua string
	//go:embed forget.lua
	forgetLua string
	//go:embed clear.lua
	clearLua string
	//go:embed advance.lua
	advanceLua string
	//go:embed swept.lua
	sweptLua string
	//go:embed trim.lua
	trimLua string
)
