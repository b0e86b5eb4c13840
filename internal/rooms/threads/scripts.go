package threads

import (
	_ "embed" // the parts

	"flashsale/redisx/pipeline"
)

// The scripts of the room. A part sees the locals of the parts before it.
var (
	startScript   = pipeline.NewScript(clockLua + logLua + shownLua + startLua)
	postScript    = pipeline.NewScript(clockLua + logLua + memberLua + postLua)
	readScript    = pipeline.NewScript(clockLua + memberLua + readLua)
	changeScript  = pipeline.NewScript(clockLua + memberLua + changeLua)
	addScript     = pipeline.NewScript(clockLua + logLua + memberLua + shownLua + addLua)
	removeScript  = pipeline.NewScript(clockLua + logLua + memberLua + shownLua + removeLua)
	eraseScript   = pipeline.NewScript(clockLua + logLua + eraseLua)
	pinScript     = pipeline.NewScript(clockLua + logLua + pinLua)
	muteScript    = pipeline.NewScript(clockLua + logLua + muteLua)
	reserveScript = pipeline.NewScript(clockLua + reserveLua)
	followScript  = pipeline.NewScript(clockLua + followLua)
	holdScript    = pipeline.NewScript(clockLua + holdLua)
	trimScript    = pipeline.NewScript(clockLua + trimLua)
)

// shownLua is a part too: how many participants a thread names.
const shownLua = "local shownMax = 20 -- ShownMax\n"

var (
	//go:embed clock.lua
	clockLua string
	//go:embed log.lua
	logLua string
	//go:embed member.lua
	memberLua string
	//go:embed start.lua
	startLua string
	//go:embed post.lua
	postLua string
	//go:embed read.lua
	readLua string
	//go:embed change.lua
	changeLua string
	//go:embed add.lua
	addLua string
	//go:embed remove.lua
	removeLua string
	//go:embed erase.lua
	eraseLua string
	//go:embed pin.lua
	pinLua string
	//go:embed mute.lua
	muteLua string
	//go:embed reserve.lua
	reserveLua string
	//go:embed follow.lua
	followLua string
	//go:embed hold.lua
	holdLua string
	//go:embed trim.lua
	trimLua string
)
