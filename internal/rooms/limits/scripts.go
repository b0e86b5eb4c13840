package limits

import (
	_ "embed" // the parts

	"flashsale/redisx/pipeline"
)

// The scripts of the room. A part sees the locals of the parts before it.
var (
	decideScript = pipeline.NewScript(clockLua + logLua + decideLua)
	seatScript   = pipeline.NewScript(clockLua + seatLua)
)

var (
	//go:embed clock.lua
	clockLua string
	//go:embed log.lua
	logLua string
	//go:embed decide.lua
	decideLua string
	//go:embed seat.lua
	seatLua string
)
