package redisx

import (
	_ "embed" // the scripts
	"regexp"
	"strings"

	"flashsale/redisx/pipeline"
)

// How the scripts are put together. A part is Lua that is no script by itself: it stands in front of the
// scripts that use it, and they share its local names. Each part begins with a list of these names.
var (
	orderScript       = script(cartRules, lazyStates, EventLua, orderFinalLua, unruled(orderLua))
	heldOrderScript   = script(cartRules, lazyStates, EventLua, orderHeldLua, unruled(orderLua))
	ruledScript       = script(cartRules, lazyStates, EventLua, orderFinalLua, orderRulesLua, orderLua)
	heldRuledScript   = script(cartRules, lazyStates, EventLua, orderHeldLua, orderRulesLua, orderLua)
	cartCheckScript   = script(cartRules, cartCheckLua)
	stateChangeScript = script(StatesLua, stateChangeLua)
	restockScript     = script(restockLua)
	soldOutScript     = script(soldOutLua)
	openScript        = script(StatesLua, NewSaleLua, openLua)

	followScript  = script(StatesLua, sliceFollowLua)
	fillScript    = script(NewSaleLua, sliceFillLua)
	filledScript  = script(sliceFilledLua)
	lackingScript = script(cartRules, orderLackingLua)
	wantedScript  = script(cartRules, transferWantedLua)
	askScript     = script(transferAskLua)
	giveScript    = script(transferGiveLua)
	takeScript    = script(transferTakeLua)
	repairScript  = script(transferRepairLua)
	// turnover/scripts.go has the scripts of package turnover, which use StatesLua and NewSaleLua.
)

// lazyStates is the states for order.lua, as a function that returns currentSale: they cost nothing until an
// order needs them, and their names do not clash with those of order.lua.
var lazyStates = "local function states()\n" + StatesLua + "return currentSale\nend\n"

// The parts.
var (
	//go:embed cart_rules.lua
	cartRules string
	// StatesLua has the states of a sale.
	//
	//go:embed states.lua
	StatesLua string
	// NewSaleLua puts a sale into Redis. It needs StatesLua in front.
	//
	//go:embed new_sale.lua
	NewSaleLua string
	// EventLua writes events of orders.
	//
	//go:embed event.lua
	EventLua string
	//go:embed order_final.lua
	orderFinalLua string
	//go:embed order_held.lua
	orderHeldLua string
	//go:embed order_rules.lua
	orderRulesLua string
)

// The scripts.
var (
	//go:embed order.lua
	orderLua string
	//go:embed order_lacking.lua
	orderLackingLua string
	//go:embed cart_check.lua
	cartCheckLua string
	//go:embed state_change.lua
	stateChangeLua string
	//go:embed restock.lua
	restockLua string
	//go:embed sold_out.lua
	soldOutLua string
	//go:embed open.lua
	openLua string
	//go:embed slice_follow.lua
	sliceFollowLua string
	//go:embed slice_fill.lua
	sliceFillLua string
	//go:embed slice_filled.lua
	sliceFilledLua string
	//go:embed transfer_wanted.lua
	transferWantedLua string
	//go:embed transfer_ask.lua
	transferAskLua string
	//go:embed transfer_give.lua
	transferGiveLua string
	//go:embed transfer_take.lua
	transferTakeLua string
	//go:embed transfer_repair.lua
	transferRepairLua string
)

// ruledLines are the lines of order.lua that only a sale with rules needs: others must not pay for them.
var ruledLines = regexp.MustCompile(`(?m)^.* -- with rules\n`)

// unruled is order.lua without these lines.
func unruled(lua string) string { return ruledLines.ReplaceAllString(lua, "") }

func script(parts ...string) *pipeline.Script { return pipeline.NewScript(strings.Join(parts, "")) }
