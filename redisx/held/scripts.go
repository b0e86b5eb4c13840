package held

import (
	_ "embed" // the scripts

	"flashsale/redisx"
	"flashsale/redisx/pipeline"
)

// sharedLua stands in front of each script.
//
//go:embed shared.lua
var sharedLua string

// endedLua stands behind it in scripts that find an order wherever it is.
//
//go:embed ended.lua
var endedLua string

var (
	//go:embed release_due.lua
	releaseDueLua string
	//go:embed pay.lua
	payLua string
	//go:embed payable.lua
	payableLua string
	//go:embed paid.lua
	paidLua string
	//go:embed paid_after.lua
	paidAfterLua string
	//go:embed refunds.lua
	refundsLua string
	//go:embed cancel.lua
	cancelLua string
	//go:embed shrink.lua
	shrinkLua string
	//go:embed refunded.lua
	refundedLua string
	//go:embed cancel_after.lua
	cancelAfterLua string

	releaseDueScript  = script(releaseDueLua)
	payScript         = script(payLua)
	payableScript     = script(payableLua)
	paidScript        = script(endedLua + paidLua)
	cancelScript      = script(cancelLua)
	shrinkScript      = script(shrinkLua)
	refundedScript    = script(endedLua + refundedLua)
	paidAfterScript   = script(endedLua + paidAfterLua)
	cancelAfterScript = script(endedLua + cancelAfterLua)
	refundsScript     = script(refundsLua)

	scripts = []*pipeline.Script{releaseDueScript, payScript, payableScript, paidScript, cancelScript,
		shrinkScript, refundedScript, paidAfterScript, cancelAfterScript, refundsScript}
)

func script(lua string) *pipeline.Script {
	return pipeline.NewScript(redisx.EventLua + sharedLua + lua)
}
