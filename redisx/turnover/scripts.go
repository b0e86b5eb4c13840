package turnover

import (
	_ "embed" // the scripts

	"flashsale/redisx"
	"flashsale/redisx/pipeline"
)

// How the scripts are put together; redisx/scripts.go has the parts.
var (
	beginScript    = pipeline.NewScript(redisx.StatesLua + beginLua)
	sliceEndScript = pipeline.NewScript(sliceEndLua)
	moveScript     = pipeline.NewScript(moveLua)
	endScript      = pipeline.NewScript(redisx.StatesLua + redisx.NewSaleLua + endLua)
	exportScript   = pipeline.NewScript(redisx.StatesLua + exportLua)
)

var (
	//go:embed begin.lua
	beginLua string
	//go:embed slice_end.lua
	sliceEndLua string
	//go:embed move.lua
	moveLua string
	//go:embed end.lua
	endLua string
	//go:embed export.lua
	exportLua string
)
