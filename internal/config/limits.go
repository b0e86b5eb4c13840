package config

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"

	"flashsale/internal/rooms/limits"
)

// limitsOff is the value of -limits that switches the room off.
const limitsOff = "off"

const cartAddsMax = 1_000_000

type limitsFlags struct {
	CartAdds int // changes to carts of a user in a minute, in each worker; 0 is no limit

	rules, file string
}

func (c *limitsFlags) add(f *Flags) {
	f.Group("Rate limits")
	f.Text(&c.rules, "limits", limits.DefaultRules, "`rules`, as in \"order by user 2/s\", with ; between "+
		"them; they replace the default rules of the same event and feature; off: none, and /limits is 404")
	f.Text(&c.file, "limits-file", "", "`file` with the rules instead, one a line; SIGHUP reads it again")
	f.Number(&c.CartAdds, "cart-adds", 120, 0, cartAddsMax,
		"most `changes` to carts of a user in a minute, in each worker; 0 is no limit")
	f.Check(func() error {
		if f.isSet("limits") && f.isSet("limits-file") {
			return errors.New("-limits (LIMITS) and -limits-file (LIMITS_FILE) are both set; set one of them")
		}
		if c.file != "" { // the supervisor checks it; a worker must start with a faulty file
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
		return parseLimits("-limits", c.rules)
	}
	text, err := os.ReadFile(c.file)
	if err != nil {
		return nil, false, fmt.Errorf("cannot read -limits-file: %w", err)
	}
	if len(text) > 0 && text[len(text)-1] != '\n' {
		return nil, false, fmt.Errorf("%s ends in the middle of line %d; end it with a line break if it is whole",
			c.file, 1+bytes.Count(text, []byte("\n")))
	}
	return parseLimits(c.file, string(text))
}

// parseLimits reads rules, or off. A text without rules is an error: a file that was emptied by accident
// must not switch the limits off.
func parseLimits(source, text string) (rules []limits.Rule, off bool, err error) {
	if strings.TrimSpace(text) == limitsOff {
		return nil, true, nil
	}
	rules, err = limits.ParseRules(source, text)
	switch {
	case err != nil:
		return nil, false, err
	case len(rules) == 0:
		return nil, false, fmt.Errorf("%s has no rules; write %s for none", source, limitsOff)
	}
	return limits.WithDefaults(rules), false, nil
}

// LimitsFile is the file that SIGHUP reads again, "" without a file.
func (c *limitsFlags) LimitsFile() string { return c.file }
