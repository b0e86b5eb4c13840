package catalog

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"flashsale/internal/testkit"
)

// loadFoods loads a catalogue of these foods, "DIR" in its error stands for the folder.
func loadFoods(t *testing.T, foods string) (*Catalog, error) {
	t.Helper()
	dir := writeCSV(t, goodUsers, foods)
	c, err := Load(t.Context(), Config{Dir: dir})
	if err != nil {
		return nil, &dirError{strings.ReplaceAll(err.Error(), dir, "DIR")}
	}
	return c, nil
}

type dirError struct{ text string }

func (e *dirError) Error() string { return e.text }

// The goods survive the way to another process, whatever the order of columns and rows.
func TestGoods(t *testing.T) {
	c, err := loadFoods(t, "name.zh,id,unit,stock,price,image,description.en,name,currency,name.pt-BR\n"+
		"面,2,,1,9.5,b.webp,\"Long,\nsoft\",Noodles,CNY,\n"+
		"饺子,1,plate,1,12,/p/1.png,,,CNY,Ravióli\n"+
		",3,,1,0.07,b.webp,,,CNY,\n")
	testkit.Must(t, err)
	want := []Goods{
		{Name: Text{"饺子", map[string]string{"zh": "饺子", "pt-BR": "Ravióli"}}, Unit: Text{Default: "plate"},
			Picture: "/p/1.png"},
		{Name: Text{"Noodles", map[string]string{"zh": "面"}}, Picture: "b.webp",
			Description: Text{"Long,\nsoft", map[string]string{"en": "Long,\nsoft"}}},
		{Picture: "b.webp"},
	}
	file, err := c.File()
	testkit.Must(t, err)
	defer file.Close()
	mapped, err := Map(file)
	testkit.Must(t, err)
	for name, got := range map[string]*Catalog{"loaded": c, "mapped": mapped} {
		if !reflect.DeepEqual(got.Goods(), want) || got.Currency() != "CNY" {
			t.Errorf("%s: %q %+v, want %+v", name, got.Currency(), got.Goods(), want)
		}
	}
	if got := c.Foods(); got[0].Price != 1200 || got[1].Price != 950 || got[2].Price != 7 {
		t.Errorf("prices %v, want 1200, 950, 7", got)
	}
	at := c.Pictures()
	if len(at) != 1 || at[0].File != "b.webp" || !strings.HasSuffix(at[0].At, "foods.csv:2") {
		t.Errorf("pictures %v, want b.webp of line 2", at)
	}
}

// Foods of the contest have no goods, and no currency changes what they mean. A currency does.
func TestCurrencyIsInTheFingerprint(t *testing.T) {
	plain, err := loadFoods(t, "id,stock,price\n1,10,300\n")
	testkit.Must(t, err)
	if plain.Goods() != nil || plain.Currency() != "" || plain.Fingerprint() != "da2dbf49338c1e9f" {
		t.Errorf("plain foods have goods %v, currency %q, fingerprint %s", plain.Goods(), plain.Currency(),
			plain.Fingerprint())
	}
	seen := map[string]string{plain.Fingerprint(): "none"}
	for _, currency := range []string{"CNY", "EUR"} {
		c, err := loadFoods(t, "id,stock,price,currency\n1,10,3.00,"+currency+"\n")
		testkit.Must(t, err)
		if other := seen[c.Fingerprint()]; other != "" {
			t.Errorf("%s has the fingerprint of %s", currency, other)
		}
		seen[c.Fingerprint()] = currency
	}
}

func TestPrices(t *testing.T) {
	for _, test := range []struct {
		currency, text string
		want           int64
	}{
		{"CNY", "12", 1200}, {"CNY", "12.5", 1250}, {"CNY", "12.50", 1250}, {"CNY", "12.5000", 1250},
		{"CNY", "0", 0}, {"CNY", "10000000000000.00", amountMax}, {"JPY", "900", 900}, {"JPY", "900.00", 900},
		{"KWD", "0.001", 1}, {"CLF", "1.2345", 12345}, {"", "12", 12},
	} {
		got, err := parsePrice(place{}, test.text, test.currency)
		if err != nil || got != test.want {
			t.Errorf("%s %s: %d, %v, want %d", test.currency, test.text, got, err, test.want)
		}
	}
	for _, test := range [][2]string{
		{"CNY", ""}, {"CNY", "."}, {"CNY", ".5"}, {"CNY", "5."}, {"CNY", "1.234"}, {"CNY", "-1"}, {"CNY", "+1"},
		{"CNY", "1,50"}, {"CNY", "1e2"}, {"CNY", "1.-1"}, {"CNY", "10000000000000.01"}, {"JPY", "1.5"},
		{"CNY", "99999999999999999999"}, {"", "1.5"},
	} {
		if got, err := parsePrice(place{}, test[1], test[0]); err == nil {
			t.Errorf("%s %q is taken as %d", test[0], test[1], got)
		}
	}
}

func TestGoodsRefusals(t *testing.T) {
	const head = "id,stock,price,"
	for _, test := range []struct{ name, foods, want string }{
		{"long name", head + "name.en\n1,1,1," + strings.Repeat("n", goodsNameMax+1) + "\n",
			"DIR/foods.csv:2: name.en has 201 bytes; shorten it to at most 200"},
		{"long description", head + "description\n1,1,1," + strings.Repeat("n", descriptionMax+1) + "\n",
			"DIR/foods.csv:2: description has 2001 bytes; shorten it to at most 2000"},
		{"long unit", head + "unit\n1,1,1," + strings.Repeat("n", unitMax+1) + "\n",
			"DIR/foods.csv:2: unit has 51 bytes; shorten it to at most 50"},
		{"not UTF-8", head + "name\n1,1,1,caf\xe9\n",
			"DIR/foods.csv:2: name is not UTF-8; save the file as UTF-8"},
		{"two lines in a name", head + "name\n1,1,1,\"a\nb\"\n",
			`DIR/foods.csv:2: name has the control character '\n'; remove it`},
		{"no language", head + "name.EN\n1,1,1,x\n",
			`DIR/foods.csv:1: header is "id,stock,price,name.EN"; write id,stock,price in any order` +
				foodTable.others},
		{"column twice", head + "name,name\n1,1,1,x,y\n",
			`DIR/foods.csv:1: header is "id,stock,price,name,name"; write id,stock,price in any order` +
				foodTable.others},
		{"many columns", head + strings.Repeat("x,", columnsMax) + "\n",
			"DIR/foods.csv:1: header names 68 columns; at most 64 are read"},
		{"unknown currency", head + "currency\n1,1,1,RMB\n",
			`DIR/foods.csv:2: currency "RMB" is none of ISO 4217; write one such as CNY, EUR or JPY`},
		{"two currencies", head + "currency\n1,1,1,CNY\n2,1,1,EUR\n",
			`DIR/foods.csv:3: currency is "EUR"; at DIR/foods.csv:2 it is "CNY": give all foods the same`},
		{"a food without the currency", head + "currency\n1,1,1,CNY\n2,1,1,\n",
			`DIR/foods.csv:3: currency is ""; at DIR/foods.csv:2 it is "CNY": give all foods the same`},
		{"too many decimals", head + "currency\n1,1,9.999,CNY\n", `DIR/foods.csv:2: price "9.999" is not an ` +
			`amount of CNY from 0 to 10000000000000 with at most 2 decimals, such as 12.50`},
		{"decimals of yen", head + "currency\n1,1,9.5,JPY\n", `DIR/foods.csv:2: price "9.5" is not an ` +
			`amount of JPY from 0 to 1000000000000000 with at most 0 decimals, such as 12`},
		{"long image", head + "image\n1,1,1," + strings.Repeat("n", pictureMax+1) + "\n",
			"DIR/foods.csv:2: image has 201 bytes; shorten it to at most 200"},
	} {
		_, err := loadFoods(t, test.foods)
		t.Run(test.name, func(t *testing.T) { wantError(t, err, test.want) })
	}
	for _, image := range []string{"../a.png", "a/b.png", ".a.png", "//host/a.png", "/a//b.png", "/a/../b.png",
		"/a/", "/", `/\host`, "https://host/a.png", "a b.png", "/a?b", "javascript:x", "é.png"} {
		if _, err := loadFoods(t, head+"image\n1,1,1,"+image+"\n"); err == nil {
			t.Errorf("image %s is taken", image)
		}
	}
}

// All texts together have a limit, because one reply has them all.
func TestGoodsAreBounded(t *testing.T) {
	row := ",1,1," + strings.Repeat("d", descriptionMax) + "\n"
	var foods strings.Builder
	foods.WriteString("id,stock,price,description\n")
	for i := range textBytesMax/descriptionMax + 1 {
		foods.WriteString(strings.Repeat("0", 9-len(digits(i+1))) + digits(i+1) + row)
	}
	_, err := loadFoods(t, foods.String())
	wantError(t, err, "DIR/foods.csv:526: the texts of the foods up to this one have 1050000 bytes; shorten "+
		"them to at most 1048576 together")
}

func digits(n int) string { return place{row: n}.String() }

// SIGHUP takes other names and pictures, but neither another price nor another currency.
func TestReloadOfGoods(t *testing.T) {
	dir := writeCSV(t, goodUsers, "id,stock,price,name,currency\n1,10,3.00,Noodles,CNY\n")
	cfg := Config{Dir: dir}
	c := mustLoad(t, cfg)
	path := filepath.Join(dir, "foods.csv")
	write := func(foods string) {
		testkit.Must(t, os.WriteFile(path, []byte(foods), 0o600))
	}
	write("id,stock,price,name.zh,currency\n1,10,3,面,CNY\n")
	fresh, err := c.Reload(t.Context(), cfg, false)
	testkit.Must(t, err)
	if got := fresh.Goods()[0].Name.Default; got != "面" {
		t.Errorf("the name is %q, want the new one", got)
	}
	write("id,stock,price,currency\n1,10,3.00,EUR\n")
	_, err = c.Reload(t.Context(), cfg, true)
	wantError(t, err, `its currency is not that of the sale: `+path+`: "EUR"; in the sale it is "CNY"`)
}

// Each built-in food has a name and a picture of its own, up to the last one with goods.
func TestBuiltInGoods(t *testing.T) {
	c := mustLoad(t, Config{Users: 1, Foods: builtInGoods + 1, Stock: 1, RootPassword: "r"})
	names, pictures := map[string]bool{}, map[string]bool{}
	for i, goods := range c.Goods()[:builtInGoods] {
		for language := range goods.Name.In {
			names[goods.Name.In[language]] = true
		}
		pictures[goods.Picture] = true
		if goods.Description.In["en"] == "" || goods.Unit.In["zh"] == "" ||
			goods.Name.Default != goods.Name.In["en"] {
			t.Errorf("food %d has %+v", i+1, goods)
		}
	}
	if len(names) != 2*builtInGoods || len(pictures) != builtInGoods ||
		!c.Goods()[builtInGoods].Name.IsZero() || c.Currency() != "" {
		t.Errorf("%d names and %d pictures of %d foods", len(names), len(pictures), builtInGoods)
	}
}
