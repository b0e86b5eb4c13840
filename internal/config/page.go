package config

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// shopNameMax is how many characters a shop's name has at most: more do not fit into the header.
const shopNameMax = 32

type pageFlags struct {
	ShopName string // "": the page is called flashsale
	ShopLogo string // file, "" for none

	page string
}

func (c *pageFlags) add(f *Flags) {
	f.Group("Page")
	f.Choice(&c.page, "page", []string{"on", "off"}, "`on or off`: serve a page for buyers and for root at /; "+
		"off: / is 404")
	f.Text(&c.ShopName, "shop-name", "", fmt.Sprintf("`name` of the shop on the page and the receipts, "+
		"of at most %d characters (default flashsale)", shopNameMax))
	f.Text(&c.ShopLogo, "shop-logo", "", "PNG, JPEG, WebP or GIF `file` with its logo; SIGHUP reads it again")
	f.Check(func() error {
		name := c.ShopName
		hidden := strings.ContainsFunc(name, func(letter rune) bool { return !unicode.IsPrint(letter) })
		if hidden || !utf8.ValidString(name) || utf8.RuneCountInString(name) > shopNameMax ||
			strings.TrimSpace(name) != name {
			return fmt.Errorf("%s is %q; it must be UTF-8 with at most %d characters that can be seen, and no "+
				"space at its ends", f.source("shop-name"), name, shopNameMax)
		}
		return nil
	})
	f.needs([]string{"shop-name"}, "shop-logo")
}

// Page reports whether the page is served.
func (c *pageFlags) Page() bool { return c.page == "on" }
