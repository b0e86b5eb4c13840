package held

import (
	_ "embed" // the scripts

	"flashsale/redisx"
	"flashsale/redisx/pipeline"
)

// rulesLua stands in front of each script.
//
//go:embed rules.lua
var rulesLua string

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

	releaseDueScript = script(releaseDueLua)
	payScript        = script(payLua)
	payableScript    = script(payableLua)
	paidScript       = script(paidLua)
	cancelScript     = script(cancelLua)
	shrinkScript     = script(shrinkLua)
	refundedScript   = script(refundedLua)
	paidAfterScript  = script(paidAfterLua)
	refundsScript    = script(refundsLua)

	scripts = []*pipeline.Script{releaseDueScript, payScript, payableScript, paidScript, cancelScript,
		shrinkScript, refundedScript, paidAfterScript, refundsScript}
)

func script(lua string) *pipeline.Script { return pipeline.NewScript(redisx.EventLua + rulesLua + lua) }
