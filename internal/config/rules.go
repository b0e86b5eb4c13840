package config

type rulesFlags struct {
	Rules string // file, "" for no rules
}

func (c *rulesFlags) add(f *Flags) {
	f.Group("Rules of a purchase (limits, groups of users with times, households, coupons)")
	f.Text(&c.Rules, "rules", "", "`file` of the rules, CSV; the same for all servers of a sale; "+
		"SIGHUP reads it again")
}
