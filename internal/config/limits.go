package config

import (
	"errors"
	"fmt"
	"os"

	"flashsale/internal/limits"
)

// limitsOff is the -limits without any rule: the room is off.
const limitsOff = "off"

const cartAddsMax = 1_000_000

type limitsFlags struct {
	LimitsCluster bool
	CartAdds      int // changes to carts of a user in a minute, in each worker; 0 is no limit

	rules, file string
}

func (c *limitsFlags) add(f *Flags) {
	f.Group("Rate limits")
	f.Text(&c.rules, "limits", limits.DefaultRules, "`rules`, as in \"order by user 2/s\", with ; between "+
		"them; off: none, and /limits is 404")
	f.Text(&c.file, "limits-file", "", "`file` with the rules instead, one a line; SIGHUP reads it again")
	f.Switch(&c.LimitsCluster, "limits-cluster", "ask Redis about each feature in a call of its own, as a "+
		"Redis Cluster behind a proxy needs it")
	f.Number(&c.CartAdds, "cart-adds", 120, 0, cartAddsMax,
		"most `changes` to carts of a user in a minute, in each worker; 0 is no limit")
	f.Check(func() error {
		if f.isSet("limits") && f.isSet("limits-file") {
			return errors.New("-limits (LIMITS) and -limits-file (LIMITS_FILE) are both set; set one of them")
		}
		if c.file != "" { // the supervisor reads it: a worker must start although it has a fault since
			return nil
		}
		_, _, err := c.LimitRules()
		return err
	})
}

// LimitRules reads the rules of the rate limits, from the file if there is one. off means that the room is
// off.
func (c *limitsFlags) LimitRules() (rules []limits.Rule, off bool, err error) {
	if c.file == "" {
		if c.rules == limitsOff {
			return nil, true, nil
		}
		rules, err = limits.ParseRules("-limits", c.rules)
		return rules, false, err
	}
	text, err := os.ReadFile(c.file)
	if err != nil {
		return nil, false, fmt.Errorf("cannot read -limits-file: %w", err)
	}
	rules, err = limits.ParseRules(c.file, string(text))
	return rules, false, err
}

// LimitsFile is the file that SIGHUP reads again, "" where there is none.
func (c *limitsFlags) LimitsFile() string { return c.file }
