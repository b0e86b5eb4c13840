package web

import (
	"bytes"
	"fmt"
	"html"
	"regexp"
)

// Brand is what tells one shop from another. Without a name the page is called flashsale.
type Brand struct {
	Name string
	Logo *Logo // nil for none
}

// Logo is a small picture. The page shows it beside the name, and browsers beside the title.
type Logo struct {
	Type          string // media type
	Body          []byte
	Width, Height int // pixels
}

// What stands in the page for a brand.
var (
	ownName = []byte(">flashsale<")
	ownMark = regexp.MustCompile(`(?s)<svg viewBox="0 0 32 32".*?</svg>`)
	ownIcon = []byte(`<link rel="icon" href="/web/icon.svg" type="image/svg+xml">`)
	noName  = []byte(`<p class="shop-name" translate="no" hidden></p>`)
)

// put puts the brand into the files of a page, and returns the name of the icon among them.
func (b Brand) put(files map[string][]byte) (icon string) {
	icon = "icon.svg"
	if b.Name == "" {
		return icon
	}
	page, name, mark := files[Index], html.EscapeString(b.Name), ""
	if b.Logo != nil {
		icon = "logo.jpg"
		if b.Logo.Type == types[".png"] {
			icon = "logo.png"
		}
		files[icon] = b.Logo.Body
		mark = fmt.Sprintf(`<img src="/web/%s" alt="" width="%d" height="%d">`, icon, b.Logo.Width, b.Logo.Height)
		page = ownMark.ReplaceAllLiteral(page, []byte(mark))
		page = bytes.Replace(page, ownIcon, fmt.Appendf(nil, `<link rel="icon" href="/web/%s" type="%s">`, icon,
			b.Logo.Type), 1)
	}
	page = bytes.ReplaceAll(page, ownName, []byte(">"+name+"<"))
	named := fmt.Appendf(nil, `<p class="shop-name" translate="no">%s<span>%s</span></p>`, mark, name)
	files[Index] = bytes.ReplaceAll(page, noName, named)
	return icon
}
