package config

import "time"

type blocklistFlags struct {
	Blocklist        string        // URL or file of the list of invalid passports, "" for none
	BlocklistRefresh time.Duration // between two checks for a new version
	BlocklistForce   bool          // take a list that has shrunk, too
}

func (c *blocklistFlags) add(f *Flags) {
	f.Group("Blocklist (of invalid passports; off, unless -blocklist is set)")
	f.Text(&c.Blocklist, "blocklist", "", "`file or URL` of the list, bzip2 of CSV with the header "+
		"PASSP_SERIES,PASSP_NUMBER")
	f.Time(&c.BlocklistRefresh, "blocklist-refresh", 24*time.Hour, time.Second, 365*24*time.Hour,
		"`time` between two checks for a new version")
	f.Switch(&c.BlocklistForce, "blocklist-force", "take a list that is empty or lost more than a fifth, too")
	f.needs([]string{"blocklist"}, "blocklist-refresh", "blocklist-force")
}
