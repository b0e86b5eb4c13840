package catalog

import (
	"context"
	"strings"
	"testing"
	"unicode/utf8"

	"flashsale/internal/testkit"
)

// csvTexts is a source of two texts by table name.
type csvTexts map[string]string

func (c csvTexts) String() string { return "texts" }

func (c csvTexts) name(t table) string { return t.name + "s.csv" }

func (c csvTexts) rows(ctx context.Context, t table, visit rowVisitor) error {
	return readCSV(ctx, strings.NewReader(c[t.name]), c.name(t), t, visit)
}

// FuzzCSV holds the readers to: no panic, and a catalogue that is accepted keeps every promise of the
// package.
func FuzzCSV(f *testing.F) {
	f.Add(goodUsers, goodFoods)
	f.Add("password,id,name\n\"a\"\"b\",2,ann\nx,1,root\n", "price,stock,id\n5,0,2\n3,1000000000000000,1\n")
	f.Add("id,name,password\n1,root,r\n1,root,r\n", "id,stock,price\n1,1,1\n3,1,1\n")
	f.Add("id,name,password\n1,root,\"r\n", goodFoods)
	f.Add(goodUsers, "id,stock,price\n1,-1,99999999999999999999\n")
	f.Add(strings.TrimSuffix(goodUsers, "\n"), strings.TrimSuffix(goodFoods, "\n"))
	f.Add("\ufeffid,name,password\n", "")
	f.Add(goodUsers, "id,stock,price,name,name.zh,description,unit,image,currency\n1,1,9.5,a,面,b,c,d.png,CNY\n")
	f.Add(goodUsers, "price,id,image,stock,currency,name.en-GB\n12,1,/a/b.png,1,KWD,x\n")
	testkit.AddSeeds[string](f)
	f.Fuzz(func(t *testing.T, users, foods string) {
		src := csvTexts{userTable.name: users, foodTable.name: foods}
		catalog, err := load(t.Context(), src, "")
		if err != nil {
			return
		}
		for i, food := range catalog.Foods() {
			if food.ID != int64(i+1) || food.Stock < 0 || food.Stock > amountMax || food.Price < 0 ||
				food.Price > amountMax {
				t.Errorf("food %d accepted as %+v", i+1, food)
			}
		}
		checkGoods(t, catalog)
		ids := map[uint32]bool{}
		_, err = read(t.Context(), &tolerant{source: src}, "", func(_ place, user User) error {
			if id, _, ok := catalog.Authenticate([]byte(user.Name), []byte(user.Password)); !ok || id != user.ID {
				t.Errorf("user %+v authenticates as %d, %v", user, id, ok)
			}
			if user.ID == 0 || ids[user.ID] || (user.ID == 1) != (user.Name == rootName) {
				t.Errorf("user accepted as %+v", user)
			}
			ids[user.ID] = true
			return nil
		})
		if err != nil {
			t.Errorf("accepted by load, refused by read: %v", err)
		}
		if len(ids) != catalog.Users() || len(ids) == 0 || !ids[1] || len(catalog.Foods()) == 0 {
			t.Errorf("%d ids for %d users, %d foods", len(ids), catalog.Users(), len(catalog.Foods()))
		}
	})
}

// checkGoods looks for goods that a page could not show.
func checkGoods(t *testing.T, c *Catalog) {
	if goods := c.Goods(); goods != nil && len(goods) != len(c.Foods()) {
		t.Errorf("goods of %d foods, of %d", len(goods), len(c.Foods()))
	}
	if _, known := Decimals(c.Currency()); c.Currency() != "" && !known {
		t.Errorf("currency %q accepted", c.Currency())
	}
	for _, goods := range c.Goods() {
		for _, text := range []Text{goods.Name, goods.Description, goods.Unit} {
			if !utf8.ValidString(text.Default) || text.Default == "" && len(text.In) > 0 {
				t.Errorf("text accepted as %+v", text)
			}
		}
		if path := goods.Picture + "/"; strings.Contains(path, "/../") || strings.Contains(path, "//") ||
			strings.Count(path, "/") > 1 && path[0] != '/' {
			t.Errorf("picture accepted as %q", goods.Picture)
		}
	}
}
