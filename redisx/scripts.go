package redisx

import (
	_ "embed" // the scripts
	"strings"

	"flashsale/redisx/pipeline"
)

// Which script is made of what. A part is Lua that is no script by itself: it stands in front of the scripts
// that use it, and its local names are theirs too. Each part begins with the list of these names.
var (
	orderScript       = script(cartRules, lazyStates, orderLua)
	cartCheckScript   = script(cartRules, cartCheckLua)
	stateChangeScript = script(StatesLua, stateChangeLua)
	restockScript     = script(restockLua)
	openScript        = script(StatesLua, NewSaleLua, openLua)
	// turnover/scripts.go has those of package turnover, with StatesLua and NewSaleLua in front, too.
)

// lazyStates is the states for order.lua, as a function that returns currentSale: they cost nothing until an
// order needs them, and their other names are not those of order.lua.
var lazyStates = "local function states()\n" + StatesLua + "return currentSale\nend\n"

// The parts.
var (
	//go:embed cart_rules.lua
	cartRules string
	// StatesLua is the states of a sale.
	//
	//go:embed states.lua
	StatesLua string
	// NewSaleLua puts a sale into Redis. It needs StatesLua in front.
	//
	//go:embed new_sale.lua
	NewSaleLua string
)

// The scripts behind them.
var (
	//go:embed order.lua
	orderLua string
	//go:embed cart_check.lua
	cartCheckLua string
	//go:embed state_change.lua
	stateChangeLua string
	//go:embed restock.lua
	restockLua string
	//go:embed open.lua
	openLua string
)

func script(parts ...string) *pipeline.Script { return pipeline.NewScript(strings.Join(parts, "")) }
