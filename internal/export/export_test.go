package export

import (
	"cmp"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"flashsale/internal/testkit"
	"flashsale/redisx"
)

func book(format Format, name string) *Book {
	return &Book{Format: format, Sale: "abcdefgh", Price: PricesOf([]int64{10, 20, 30}),
		Names: NamesBy(func(uint32) []byte { return []byte(name) })}
}

// line is an order as the book has it.
func line(t *testing.T, b *Book, order redisx.Order) string {
	t.Helper()
	text, err := b.AppendPage(nil, []redisx.Order{order})
	testkit.Must(t, err)
	return string(text)
}

var order = redisx.Order{User: 7, Items: []redisx.Item{{Food: 3, Count: 2}, {Food: 1, Count: 1}},
	Placed: time.Date(2026, 11, 22, 10, 0, 0, 5_000_000, time.UTC)}

func TestCSV(t *testing.T) {
	const want = "order_id,user_id,user_name,items,prices,total,placed_at\r\n"
	if head := string(book(CSV, "").AppendHead(nil)); head != want {
		t.Errorf("head %q", head)
	}
	for name, field := range map[string]string{
		"ann": "ann", "安娜": "安娜", "": "",
		"a,b": `"a,b"`, `a"b`: `"a""b"`, "a\r\nb": "\"a\r\nb\"", " a": `" a"`, "a\xff": "a\uFFFD",
		"=1+1": `"'=1+1"`, "+1": `"'+1"`, "-1": `"'-1"`, "@sum": `"'@sum"`, "\tx": "\"'\tx\"", "\rx": "\"'\rx\"",
		"＝1": `"'＝1"`, `=cmd|'/c "x"'`: `"'=cmd|'/c ""x""'"`, "a=1": "a=1", "'=1": "'=1",
		"a;b": `"a;b"`, "a;=cmd()": `"a;'=cmd()"`, "a\t=1": "\"a\t'=1\"", "a,-1": `"a,'-1"`, "a\n+1": "\"a\n'+1\"",
		"é;＝1": `"é;'＝1"`,
	} {
		want := "abcdefgh-7,7," + field + ",3=2 1=1,3=30 1=10,70,2026-11-22T10:00:00.005Z\r\n"
		text := line(t, book(CSV, name), order)
		if text != want {
			t.Errorf("name %q:\n got %q\nwant %q", name, text, want)
		}
		row, err := csv.NewReader(strings.NewReader(text)).Read()
		if err != nil || len(row) != 7 || row[6] != "2026-11-22T10:00:00.005Z" {
			t.Errorf("name %q is read as %q, %v", name, row, err)
		}
	}
}

func TestJSONLines(t *testing.T) {
	const name = "a\"b\n=<安>"
	b := book(JSONLines, name)
	if head := b.AppendHead(nil); len(head) > 0 {
		t.Errorf("head %q", head)
	}
	text := line(t, b, order)
	if !strings.HasSuffix(text, "}\n") || strings.Count(text, "\n") != 1 {
		t.Errorf("no line: %q", text)
	}
	var got struct {
		ID       string
		UserID   int `json:"user_id"`
		Username string
		Items    []struct{ Food_id, Price, Count int }
		Total    int
		PlacedAt string `json:"placed_at"`
	}
	testkit.Must(t, json.Unmarshal([]byte(text), &got))
	if got.ID != "abcdefgh-7" || got.UserID != 7 || got.Username != name || got.Total != 70 ||
		len(got.Items) != 2 || got.Items[0].Food_id != 3 || got.Items[0].Price != 30 || got.Items[0].Count != 2 ||
		got.PlacedAt != "2026-11-22T10:00:00.005Z" {
		t.Errorf("%+v", got)
	}
}

// Amounts stay in minor units; behind all other columns stand their currency and its decimals.
func TestCurrencyOfOrders(t *testing.T) {
	b := book(CSV, "ann")
	b.Currency, b.Decimals, b.States = "CNY", 2, true
	paid := order
	paid.Hold.State = redisx.Paid
	const want = "order_id,user_id,user_name,items,prices,total,placed_at,state,currency,decimals\r\n" +
		"abcdefgh-7,7,ann,3=2 1=1,3=30 1=10,70,2026-11-22T10:00:00.005Z,paid,CNY,2\r\n"
	if got := string(b.AppendHead(nil)) + line(t, b, paid); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	b.Format = JSONLines
	if got := line(t, b, paid); !strings.HasSuffix(got, `,"state":"paid","currency":"CNY","decimals":2}`+"\n") {
		t.Errorf("got %s", got)
	}
}

// An item has a line of its own, with amounts as people write them; no name becomes a formula.
func TestItems(t *testing.T) {
	b := book(CSV, "@sum")
	b.Rows, b.BOM, b.Currency, b.Decimals = Items, true, "CNY", 2
	b.Foods = func(food int64) string { return []string{"-2+3", "", "\t辣, 面"}[food-1] }
	const head = "\xEF\xBB\xBFplaced_at,order_id,user_id,user_name,food_id,food_name,count,price,sum," +
		"currency,price_minor,sum_minor\r\n"
	if got := string(b.AppendHead(nil)); got != head {
		t.Errorf("head %q", got)
	}
	const at = "2026-11-22T10:00:00.005Z,abcdefgh-7,7,\"'@sum\","
	if got, want := line(t, b, order), at+"3,\"'\t辣, 面\",2,0.30,0.60,CNY,30,60\r\n"+
		at+"1,\"'-2+3\",1,0.10,0.10,CNY,10,10\r\n"; got != want {
		t.Errorf("rows\n%q, want\n%q", got, want)
	}
	b.Format, b.Foods = JSONLines, nil
	if head := b.AppendHead(nil); len(head) > 0 {
		t.Errorf("head %q", head)
	}
	const object = `{"placed_at":"2026-11-22T10:00:00.005Z","order_id":"abcdefgh-7","user_id":7,` +
		`"username":"@sum","food_id":%s,"food_name":"","count":%s,"price":%s,"sum":%s,"currency":"CNY",` +
		`"decimals":2}`
	fill := func(values ...any) string { return fmt.Sprintf(object+"\n", values...) }
	if got, want := line(t, b, order), fill("3", "2", "30", "60")+fill("1", "1", "10", "10"); got != want {
		t.Errorf("rows\n%q, want\n%q", got, want)
	}
}

func TestMoney(t *testing.T) {
	for _, test := range []struct {
		amount   int64
		decimals int
		want     string
	}{{0, 0, "0"}, {1250, 0, "1250"}, {1250, 2, "12.50"}, {5, 2, "0.05"}, {-5, 2, "-0.05"},
		{-1250, 3, "-1.250"}, {0, 2, "0.00"}, {math.MinInt64, 2, "-92233720368547758.08"}} {
		if got := string(AppendMoney(nil, test.amount, test.decimals)); got != test.want {
			t.Errorf("%d with %d decimals is %s, want %s", test.amount, test.decimals, got, test.want)
		}
	}
}

// Orders are sorted by time, then by id, whatever order they come in; more than the most are refused.
func TestSorted(t *testing.T) {
	at := func(user uint32, second int) redisx.Order {
		placed := order.Placed.Add(time.Duration(second) * time.Second)
		return redisx.Order{User: user, Items: order.Items, Placed: placed}
	}
	pages := func(n int) Pages {
		return func(context.Context) ([]redisx.Order, error) {
			if n--; n < 0 {
				return nil, io.EOF
			}
			return []redisx.Order{at(uint32(n), n%3), at(uint32(n+1000), n%3)}, nil
		}
	}
	next := Sorted(pages(400), 800)
	var all []redisx.Order
	for {
		page, err := next(t.Context())
		if errors.Is(err, io.EOF) {
			break
		}
		testkit.Must(t, err)
		all = append(all, page...)
	}
	sorted := slices.IsSortedFunc(all, func(a, b redisx.Order) int {
		return cmp.Or(a.Placed.Compare(b.Placed), cmp.Compare(a.User, b.User))
	})
	if len(all) != 800 || !sorted || !reflect.DeepEqual(all[0], at(0, 0)) {
		t.Errorf("%d orders, sorted %v, the first is %+v", len(all), sorted, all[0])
	}
	if _, err := Sorted(pages(400), 799)(t.Context()); !errors.Is(err, ErrTooMany) {
		t.Errorf("more than the most: %v", err)
	}
	broken := errors.New("broken")
	next = Sorted(func(context.Context) ([]redisx.Order, error) { return nil, broken }, 0)
	for range 2 {
		if _, err := next(t.Context()); !errors.Is(err, broken) {
			t.Errorf("an error is %v", err)
		}
	}
}

// The README shows the formats as they are.
func TestReadmeShowsFormats(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	testkit.Must(t, err)
	order := redisx.Order{User: 2, Items: []redisx.Item{{Food: 1, Count: 2}, {Food: 3, Count: 1}},
		Placed: time.Date(2026, 11, 22, 10, 0, 0, 123_000_000, time.UTC)}
	foods := []string{"Spicy noodles", "", "Spicy fried rice"}
	for _, b := range []Book{{Format: CSV}, {Format: JSONLines}, {Format: CSV, Rows: Items}} {
		b.Sale, b.Price, b.Currency, b.Decimals = "zv2hq6ya", PricesOf([]int64{12, 5, 21}), "CNY", 2
		b.Names = NamesBy(func(uint32) []byte { return []byte("user2") })
		b.Foods = func(food int64) string { return foods[food-1] }
		text := strings.ReplaceAll(string(b.AppendHead(nil))+line(t, &b, order), "\r\n", "\n")
		if !strings.Contains(string(readme), "```\n"+text+"```\n") {
			t.Errorf("the README does not show\n%s", text)
		}
	}
}
