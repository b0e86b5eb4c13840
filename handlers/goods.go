package handlers

import (
	"encoding/json"
	"fmt"
	"log/slog"

	"flashsale/internal/catalog"
)

// goodsTexts are the goods of all foods as JSON, made once.
type goodsTexts struct {
	foods [][]byte // by id, nil without any
	bytes int      // of all foods
}

// foodGoods is what GET /foods?details=1 adds to a food, beside the time since when it is sold out.
type foodGoods struct {
	Currency     string            `json:"currency,omitempty"`
	Decimals     *int              `json:"decimals,omitempty"` // of the currency
	Name         string            `json:"name,omitempty"`
	Names        map[string]string `json:"names,omitempty"`
	Description  string            `json:"description,omitempty"`
	Descriptions map[string]string `json:"descriptions,omitempty"`
	Unit         string            `json:"unit,omitempty"`
	Units        map[string]string `json:"units,omitempty"`
	Image        string            `json:"image,omitempty"`
}

// newGoodsTexts writes the goods of a catalogue.
func newGoodsTexts(c *catalog.Catalog) (texts goodsTexts) {
	goods, currency := c.Goods(), c.Currency()
	if goods == nil && currency == "" {
		return goodsTexts{}
	}
	var decimals *int
	if n, known := catalog.Decimals(currency); known {
		decimals = &n
	}
	for i := range c.Foods() {
		food := foodGoods{Currency: currency, Decimals: decimals}
		if goods != nil {
			food.add(&goods[i])
		}
		text, err := json.Marshal(food)
		if err != nil { // strings and a number
			slog.Error("cannot write the goods of a food", "food", i+1, "error", err)
			text = []byte("{}")
		}
		text = text[1 : len(text)-1]
		if len(text) > 0 {
			text = append([]byte{','}, text...)
		}
		texts.foods = append(texts.foods, text)
		texts.bytes += len(text)
	}
	return texts
}

func (f *foodGoods) add(goods *catalog.Goods) {
	f.Name, f.Names = goods.Name.Default, goods.Name.In
	f.Description, f.Descriptions = goods.Description.Default, goods.Description.In
	f.Unit, f.Units = goods.Unit.Default, goods.Unit.In
	if f.Image = goods.Picture; f.Image != "" && f.Image[0] != '/' {
		f.Image = picturesPath + f.Image
	}
}

// picturesPath is where the files of -images are served.
const picturesPath = "/images/"

// of returns the goods of a food, counted from 0, with a comma in front.
func (t *goodsTexts) of(food int) []byte {
	if t.foods == nil {
		return nil
	}
	return t.foods[food]
}

// Catalogue writes what the page shows of the foods before anybody has logged in: as GET /foods?details=1
// without the stock.
func Catalogue(c *catalog.Catalog) []byte {
	goods := newGoodsTexts(c)
	list := []byte{'['}
	for i, food := range c.Foods() {
		if i > 0 {
			list = append(list, ',')
		}
		list = fmt.Appendf(list, `{"id":%d,"price":%d%s}`, food.ID, food.Price, goods.of(i))
	}
	return append(list, ']')
}
