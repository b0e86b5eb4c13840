package config

type pageFlags struct{ page string }

func (c *pageFlags) add(f *Flags) {
	f.Group("Page")
	f.Choice(&c.page, "page", []string{"on", "off"}, "`on or off`: serve a page for buyers and for root at /; "+
		"off: / is 404")
}

// Page reports whether the page is served.
func (c *pageFlags) Page() bool { return c.page == "on" }
