package catalog

import (
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of what buyers see of a food.
const (
	goodsNameMax   = 200  // bytes in each language
	descriptionMax = 2000 // the same
	unitMax        = 50   // the same
	pictureMax     = 200  // of the URL path or the file name

	// textBytesMax bounds the texts of all foods together: one reply has them all.
	textBytesMax = 1 << 20
)

// Goods is what buyers see of a food beside its id, price and stock.
type Goods struct {
	Name        Text `json:",omitzero"`
	Description Text `json:",omitzero"`
	Unit        Text `json:",omitzero"` // what one piece is, such as "bowl"
	// Picture is the path of a URL, which begins with a slash, or the name of a file; "" for none.
	Picture string `json:",omitempty"`
}

// Text is a text for buyers.
type Text struct {
	Default string            `json:",omitempty"` // for readers of any other language
	In      map[string]string `json:",omitempty"` // by language, such as en or zh-Hant
}

// IsZero reports whether there is no text.
func (t Text) IsZero() bool { return t.Default == "" }

// Picture is a file that foods name as their picture, and where the first of them stands.
type Picture struct{ File, At string }

// Goods returns the goods of all foods by id, nil if the source has none. The slice is shared; callers must
// not change it.
func (c *Catalog) Goods() []Goods { return c.goods.Foods }

// Currency returns the currency of all prices, as ISO 4217 names it, "" without one.
func (c *Catalog) Currency() string { return c.goods.Currency }

// Pictures returns the files that foods name as their pictures. Only a catalogue of Load knows them.
func (c *Catalog) Pictures() []Picture { return c.pictures }

// goodsList is the part of an image that holds the goods.
type goodsList struct {
	Currency string  `json:",omitempty"`
	Foods    []Goods `json:",omitempty"`
}

// pack returns no bytes for a catalogue of the contest.
func (l *goodsList) pack() ([]byte, error) {
	if l.Currency == "" && l.Foods == nil {
		return nil, nil
	}
	text, err := json.Marshal(l)
	if err != nil {
		return nil, fmt.Errorf("cannot pack the goods: %w", err)
	}
	return text, nil
}

// The optional columns of foods.
const (
	nameColumn        = "name"
	descriptionColumn = "description"
	unitColumn        = "unit"
	pictureColumn     = "image"
	currencyColumn    = "currency"
)

// goodsColumn matches them; a language is one of BCP 47 with or without a script and a region: en, zh-Hant,
// pt-BR.
var goodsColumn = regexp.MustCompile(
	`^((name|description|unit)(\.[a-z]{2,3}(-[A-Z][a-z]{3})?(-[A-Z]{2})?)?|image|currency)$`)

// goodsReader reads the goods of all foods.
type goodsReader struct {
	currency   string
	currencyAt *place // of the first row
	textBytes  int
	pictures   []Picture
	known      map[string]bool // files in pictures
}

// read returns the goods of a row.
func (g *goodsReader) read(r *row) (goods Goods, err error) {
	if err := g.readCurrency(r); err != nil {
		return Goods{}, err
	}
	for i, column := range r.columns[len(foodTable.columns):] {
		value := r.fields[len(foodTable.columns)+i]
		kind, language, _ := strings.Cut(column, ".")
		switch {
		case value == "":
		case kind == nameColumn:
			err = goods.Name.add(r, column, language, value, goodsNameMax)
		case kind == descriptionColumn:
			err = goods.Description.add(r, column, language, value, descriptionMax)
		case kind == unitColumn:
			err = goods.Unit.add(r, column, language, value, unitMax)
		case kind == pictureColumn:
			goods.Picture, err = value, g.addPicture(r, value)
		}
		if err != nil {
			return Goods{}, err
		}
		if kind != currencyColumn {
			g.textBytes += len(value)
		}
	}
	if g.textBytes > textBytesMax {
		return Goods{}, fmt.Errorf("%v: the texts of the foods up to this one have %d bytes; shorten them to "+
			"at most %d together", r, g.textBytes, textBytesMax)
	}
	return goods, nil
}

// add adds the text of a language, "" for the default. Without a default the first language is it.
func (t *Text) add(r *row, column, language, value string, bytesMax int) error {
	if len(value) > bytesMax {
		return fmt.Errorf("%v: %s has %d bytes; shorten it to at most %d", r, column, len(value), bytesMax)
	}
	if !utf8.ValidString(value) {
		return fmt.Errorf("%v: %s is not UTF-8; save the file as UTF-8", r, column)
	}
	lines := bytesMax == descriptionMax
	for _, letter := range value {
		if unicode.IsControl(letter) && !(lines && letter == '\n') {
			return fmt.Errorf("%v: %s has the control character %q; remove it", r, column, letter)
		}
	}
	if language == "" || t.Default == "" {
		t.Default = value
	}
	if language != "" {
		if t.In == nil {
			t.In = map[string]string{}
		}
		t.In[language] = value
	}
	return nil
}

var (
	// pictureURL needs no escape in a page, and its browser takes it for a path of this server.
	pictureURL  = regexp.MustCompile(`^(/[0-9A-Za-z_~.%-]+)+$`)
	pictureFile = regexp.MustCompile(`^[0-9A-Za-z_-][0-9A-Za-z_.-]*$`)
)

// addPicture checks the picture of a row and notes its file.
func (g *goodsReader) addPicture(r *row, value string) error {
	switch {
	case len(value) > pictureMax:
		return fmt.Errorf("%v: image has %d bytes; shorten it to at most %d", r, len(value), pictureMax)
	case strings.HasPrefix(value, "/") && pictureURL.MatchString(value) && path.Clean(value) == value:
		return nil
	case !pictureFile.MatchString(value):
		return fmt.Errorf("%v: image %.40q is neither a file name of ASCII letters, digits, \".\", \"_\" and "+
			"\"-\" nor a URL path such as /pictures/1.jpg", r, value)
	case g.known[value]:
		return nil
	case g.known == nil:
		g.known = map[string]bool{}
	}
	g.known[value] = true
	g.pictures = append(g.pictures, Picture{File: value, At: r.String()})
	return nil
}
