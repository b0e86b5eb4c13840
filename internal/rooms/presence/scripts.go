package presence

import (
	_ "embed" // the scripts

	"flashsale/redisx/pipeline"
)

var (
	beatScript = pipeline.NewScript(beatLua)
	roomScript = pipeline.NewScript(roomLua)
)

var (
	//go:embed beat.lua
	beatLua string
	//go:embed room.lua
	roomLua string
)

// The wishes that beat.lua knows, and its results.
const (
	asBefore      = ""
	wishVisible   = "visible"
	wishInvisible = "invisible"

	beatInvisible = 0
	beatVisible   = 1
)
