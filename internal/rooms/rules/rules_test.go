package rules

import (
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"flashsale/internal/testkit"
	"flashsale/redisx"
	"flashsale/redisx/redistest"
	"flashsale/redisx/saletest"
)

// context knows the users user1 to user9 and the ids from 1 to 2 million.
var context = Context{Foods: 9, Slices: 1, User: func(text string) (uint32, error) {
	id, err := strconv.ParseUint(strings.TrimPrefix(text, "user"), 10, 32)
	if err != nil || id == 0 || id > 2_000_000 {
		return 0, fmt.Errorf("there is no user %q", text)
	}
	return uint32(id), nil
}}

// parse reads rules from a folder: the main file, and others by name.
func parse(tb testing.TB, text string, others ...string) (*Set, error) {
	tb.Helper()
	folder := tb.TempDir()
	main := filepath.Join(folder, "rules.csv")
	testkit.Must(tb, os.WriteFile(main, []byte(text), 0o600))
	for i := 0; i+1 < len(others); i += 2 {
		testkit.Must(tb, os.WriteFile(filepath.Join(folder, others[i]), []byte(others[i+1]), 0o600))
	}
	source, err := Read(main)
	if err == nil {
		var set *Set
		if set, err = Parse(source, context); err == nil {
			return set, nil
		}
	}
	return nil, errors.New(strings.ReplaceAll(err.Error(), folder+"/", ""))
}

const example = `# kind, then its fields
limit, *, 2
limit, 1, 1
limit, 1, 3, vip
window, *, everyone, 2026-11-29T10:00:00Z
window, *, vip, 2026-11-29T09:00:00Z, 2026-11-29T09:30:00Z
window, 7, vip
window, 8, fcode
member, vip, 17
member, vip, user4
members, vip, vip.txt
coupon, fcode, AB12-CD34
coupons, fcode, codes.txt
household, smith, 4
household, smith, user5
households, homes.csv
`

func exampleSet(tb testing.TB) *Set {
	tb.Helper()
	set, err := parse(tb, example, "vip.txt", "18\nuser6\n", "codes.txt", "codes-1\n# more\ncodes-2\n",
		"homes.csv", "jones,7\njones,17\n")
	testkit.Must(tb, err)
	return set
}

func TestTermsOfExample(t *testing.T) {
	const opening, early = ":1795946400000-", ":1795942800000-1795944600000,1795946400000-"
	rules := New(exampleSet(t))
	for _, tc := range []struct {
		user      uint32
		coupon    string
		household string
		foods     string
		known     bool
	}{
		{2, "", "", ";1:1" + opening + ";7:2:!;8:2:?;*:2" + opening, true},
		{18, "", "", ";1:3" + early + ";7:2:;8:2:?;*:2" + early, true},
		{4, "", "smith", ";1:3" + early + ";7:2:;8:2:?;*:2" + early, true},
		{7, "", "jones", ";1:1" + opening + ";7:2:!;8:2:?;*:2" + opening, true},
		{2, " codes-1 ", "", ";1:1" + opening + ";7:2:!;8:2:;*:2" + opening, true},
		{18, "ab12-cd34", "", ";1:3" + early + ";7:2:;8:2:;*:2" + early, true},
		{2, "AB12-CD35", "", "", false},
		{2, "a", "", "", false},
		{2, "AB12 CD34", "", "", false},
		{2, strings.Repeat("A", 1000), "", "", false},
	} {
		var scratch [CodeMax]byte
		terms, known := rules.For(tc.user, []byte(tc.coupon), scratch[:])
		if known != tc.known || terms.Household != tc.household || terms.Foods != tc.foods {
			t.Errorf("user %d with %q: %+v, %t\nwant %s %s", tc.user, tc.coupon, terms, known, tc.household, tc.foods)
		}
		if want := strings.ToUpper(strings.TrimSpace(tc.coupon)); known && string(terms.Coupon) != want {
			t.Errorf("coupon %q, want %q", terms.Coupon, want)
		}
	}
	set := rules.Set()
	if got := fmt.Sprint(set.Groups(), set.Users(), set.Households(), set.Coupons(), set.Lines()); got !=
		"[{vip 4 0} {fcode 0 3}] 6 2 3 7" {
		t.Errorf("the set is %s", got)
	}
}

func TestView(t *testing.T) {
	rules := New(exampleSet(t))
	got := fmt.Sprintf("%+v", rules.View(4))
	const open = "Windows:[{From:2026-11-29 09:00:00 +0000 UTC Until:2026-11-29 09:30:00 +0000 UTC} " +
		"{From:2026-11-29 10:00:00 +0000 UTC Until:0001-01-01 00:00:00 +0000 UTC}] Listed:true Coupon:false}"
	const want = "{Household:smith Foods:[{ID:0 Limit:2 " + open + " {ID:1 Limit:3 " + open +
		" {ID:7 Limit:2 Windows:[] Listed:true Coupon:false} {ID:8 Limit:2 Windows:[] Listed:false Coupon:true}]}"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if f := rules.Food(4, []byte("codes-1"), 8); !f.Listed || f.ID != 8 {
		t.Errorf("food 8 with a coupon: %+v", f)
	}
}

// The example of the guide means what the guide says.
func TestGuideExample(t *testing.T) {
	text, _, _ := strings.Cut(testkit.ReadFile(t, "README.md"), "```\n\nEverybody")
	_, example, _ := strings.Cut(text, "```csv\n")
	set, err := parse(t, example)
	testkit.Must(t, err)
	const ten, nine = "1795917600000-", "1795914000000-"
	for user, want := range map[uint32]string{
		2: ";1:1:" + ten + ";7:2:!;8:2:?;*:2:" + ten, 4: ";1:3:" + nine + ";7:2:;8:2:?;*:2:" + nine,
	} {
		if terms, _ := New(set).For(user, nil, nil); terms.Foods != want {
			t.Errorf("user %d: %s\nwant %s", user, terms.Foods, want)
		}
	}
	if terms, _ := New(set).For(18, nil, nil); terms.Household != "smith" {
		t.Errorf("household %q", terms.Household)
	}
}

// A limit of the user's groups counts more than that of everyone, also where it is lower.
func TestLimitOfGroup(t *testing.T) {
	set, err := parse(t, "limit,*,3\nlimit,*,1,resellers\nlimit,*,2,vip\n"+
		"member,resellers,2\nmember,resellers,3\nmember,vip,3\n")
	testkit.Must(t, err)
	for user, want := range map[uint32]string{1: ";*:3:", 2: ";*:1:", 3: ";*:2:"} {
		if terms, _ := New(set).For(user, nil, nil); terms.Foods != want {
			t.Errorf("user %d: %s, want %s", user, terms.Foods, want)
		}
	}
}

func TestUnion(t *testing.T) {
	for name, tc := range map[string]struct{ lines, want string }{
		"overlap": {"window,*,,2026-01-01T00:00:00Z,2026-01-03T00:00:00Z\n" +
			"window,*,,2026-01-02T00:00:00Z,2026-01-04T00:00:00Z\n",
			";*::1767225600000-1767484800000"},
		"within": {"window,*,,,2026-01-03T00:00:00Z\n" +
			"window,*,,2026-01-01T00:00:00Z,2026-01-02T00:00:00Z\n",
			";*::-1767398400000"},
		"any time": {"window,*,\nwindow,*,,2026-01-01T00:00:00Z,2026-01-02T00:00:00Z\n", ""},
	} {
		set, err := parse(t, tc.lines)
		testkit.Must(t, err)
		if terms, _ := New(set).For(2, nil, nil); terms.Foods != tc.want {
			t.Errorf("%s: %q, want %q", name, terms.Foods, tc.want)
		}
	}
}

func TestFaults(t *testing.T) {
	many := strings.Builder{}
	for i := range GroupsMax + 1 {
		fmt.Fprintf(&many, "member,g%d,2\n", i)
	}
	sets := strings.Builder{}
	sets.WriteString("limit,*,1\n")
	for user := range 2 * SetsMax {
		for bit := range 11 {
			if user>>bit&1 == 1 {
				fmt.Fprintf(&sets, "member,g%d,%d\n", bit, user+1)
			}
		}
	}
	for _, tc := range []struct{ text, want string }{
		{"", "rules.csv:1: there are no limits, windows or households; write none for no rules"},
		{"member,a,2\n", "rules.csv:1: there are no limits, windows or households; write none for no rules"},
		{"none\nlimit,*,1\n", "rules.csv:1: none stands beside other lines"},
		{"limit,*,1", "rules.csv:1: the file ends within this line; end it with a line break if it is whole"},
		{"# a\n\nlimits,*,1\n", `rules.csv:3: "limits" is no kind of line; there are limit, window, ` +
			"member, members, coupon, coupons, household, households, none"},
		{"limit,*\n", "rules.csv:1: limit has 1 fields behind it, want food,pieces,group"},
		{"limit,*,1,vip,x\n", "rules.csv:1: limit has 4 fields behind it, want food,pieces,group"},
		{"limit,10,1\n", `rules.csv:1: there is no food "10"; want 1 to 9, or *`},
		{"limit,1,x\n", `rules.csv:1: "x" pieces; want 0 to 9`},
		{"limit,1,-1\n", `rules.csv:1: "-1" pieces; want 0 to 9`},
		{"limit,*,1\nlimit,1,1,vip\n", "rules.csv:2: the group vip has no members and no coupons"},
		{"window,*,everyone,10:00\n", `rules.csv:1: "10:00" is no time since 1970 as ` +
			`2026-11-29T10:00:00+08:00 or 2026-11-29T02:00:00Z`},
		{"window,*,,,1969-01-01T00:00:00Z\n", `rules.csv:1: "1969-01-01T00:00:00Z" is no time since 1970 as ` +
			`2026-11-29T10:00:00+08:00 or 2026-11-29T02:00:00Z`},
		{"window,*,,2026-11-29T10:00:00Z,2026-11-29T10:00:00Z\n", "rules.csv:1: the window ends before it begins"},
		{"limit,*,1\nmember,vip,nobody\n", `rules.csv:2: there is no user "nobody"`},
		{"limit,*,1\nmember,everyone,2\n",
			"rules.csv:2: everyone is all users; it has no members or coupons of its own"},
		{"limit,*,1\nmember,a|b,2\n",
			`rules.csv:2: "a|b" is no name; want 1 to 64 visible bytes, and no |, ; or : among them`},
		{"household, flat;1:x, 3\n",
			`rules.csv:1: "flat;1:x" is no name; want 1 to 64 visible bytes, and no |, ; or : among them`},
		{"limit,*,1\nhousehold,a\x1fb,3\n",
			`rules.csv:2: "a\x1fb" is no name; want 1 to 64 visible bytes, and no |, ; or : among them`},
		{"household,,2\n", `rules.csv:1: "" is no name; want 1 to 64 visible bytes, and no |, ; or : among them`},
		{"household,a,2\nhousehold,b,3\nhousehold,b,2\n", "rules.csv:3: user 2 is of the household a already"},
		{"limit,*,1\ncoupon,f,short\n", `rules.csv:2: "short" is no coupon; want 6 to 32 of a-z, A-Z, 0-9 and -`},
		{"limit,*,1\ncoupon,f,CODE-1\ncoupon,g,code-1\n", "rules.csv:3: the coupon stands at rules.csv:2, too"},
		{"limit,*,1\nmembers,vip,gone.txt\n",
			"rules.csv:2: cannot read the rules: open gone.txt: no such file or directory"},
		{"limit,*,1\nmembers, a, ../users.txt\n", `rules.csv:2: "../users.txt" is not in the folder of the rules`},
		{"households,/etc/passwd\n", `rules.csv:1: "/etc/passwd" is not in the folder of the rules`},
		{"limit,*,1\nmembers,vip,users.txt\n", `users.txt:2: there is no user "0"`},
		{"limit,*,1\nhouseholds,users.txt\n", "users.txt:1: want name,user"},
		{"limit,*,1\nmember,vip,\"2\n", `rules.csv:2: extraneous or missing " in quoted-field`},
		{many.String(), "rules.csv:33: there are more than 32 groups"},
		{strings.Repeat("limit,*,1\n", LinesMax+1), "rules.csv:1001: there are more than 1000 limits and windows"},
		{sets.String(), "rules.csv:1: users are in more than 1024 different sets of groups"},
	} {
		if _, err := parse(t, tc.text, "users.txt", "2\n0\n"); err == nil || err.Error() != tc.want {
			t.Errorf("%.60q: %v\nwant %s", tc.text, err, tc.want)
		}
	}
	if set, err := parse(t, "none\n"); err != nil || New(set).View(2).Foods[0].Limit != -1 {
		t.Errorf("none: %v", err)
	}
}

// What spreadsheets add to lines is no part of them, in any file.
func TestSpreadsheets(t *testing.T) {
	const bom = "\ufeff"
	for _, text := range []string{bom + "members,vip,vip.csv\nlimit,*,1,vip\n",
		bom + "# members\nmembers,vip,vip.csv\nlimit,*,1,vip\n", "members ,vip , vip.csv ,,\nlimit ,* ,1 ,vip \n",
		bom + "\"members\",vip,\"vip.csv\"\r\nlimit,*,1,vip,\r\n"} {
		set, err := parse(t, text, "vip.csv", bom+"2\n 3 \n")
		if err != nil || fmt.Sprint(set.Groups()) != "[{vip 2 0}]" {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestSlicesRefuse(t *testing.T) {
	defer func() { context.Slices = 1 }()
	context.Slices = 3
	for kind, text := range map[string]string{"households": "household,a,2\n",
		"coupons": "limit,*,1\ncoupon,f,CODE-1\n"} {
		want := fmt.Sprintf("rules.csv:%d: %s need a sale of one slice, and this one has 3: the users of a "+
			"sale with slices are spread over several Redis, which cannot decide together; remove these lines, or "+
			"open another sale with -slices 1",
			strings.Count(text, "\n"), kind)
		if _, err := parse(t, text); err == nil || err.Error() != want {
			t.Errorf("%v\nwant %s", err, want)
		}
	}
	_, err := parse(t, "limit,*,1\nwindow,1,vip\nmember,vip,2\n")
	testkit.Must(t, err)
}

// The lines of foods and times may not make an order long.
func TestTermsBounded(t *testing.T) {
	before := context.Foods
	defer func() { context.Foods = before }()
	context.Foods = 1000
	var text strings.Builder
	for food := range FoodsMax + 1 {
		fmt.Fprintf(&text, "limit,%d,1\n", food+1)
	}
	const want = "rules.csv:101: there are more than 100 foods with lines of their own; use * for the others"
	if _, err := parse(t, text.String()); err == nil || err.Error() != want {
		t.Errorf("%v\nwant %s", err, want)
	}
	text.Reset()
	for food := range FoodsMax {
		for day := range 2 {
			fmt.Fprintf(&text, "window,%d,,2026-01-%02dT00:00:00Z,2026-01-%02dT10:00:00Z\n", food+1, day+1, day+1)
		}
	}
	if _, err := parse(t, text.String()); err == nil || !strings.Contains(err.Error(), "more than 4096") {
		t.Errorf("long terms: %v", err)
	}
}

// A hundred thousand members, households and coupons fit, and are found without an allocation.
func TestLarge(t *testing.T) {
	const users = 100_000
	var members, homes, coupons strings.Builder
	for i := range users {
		fmt.Fprintf(&members, "%d\n", i*7+2)
		fmt.Fprintf(&homes, "home %d,%d\n", i/2, i*7+2)
		fmt.Fprintf(&coupons, "CODE-%d\n", i)
	}
	set, err := parse(t, "window,*,vip\nwindow,*,f\nmembers,vip,m\nhouseholds,h\ncoupons,f,c\n",
		"m", members.String(), "h", homes.String(), "c", coupons.String())
	testkit.Must(t, err)
	rules := New(set)
	var scratch [CodeMax]byte
	code := []byte("code-99999")
	if n := testkit.Allocations(func() {
		terms, known := rules.For(users*7+2-7, code, scratch[:])
		if !known || terms.Foods != "" || terms.Household != "home 49999" {
			t.Fatalf("%+v, %t", terms, known)
		}
		if terms, _ = rules.For(3, nil, nil); terms.Foods != ";*::?" {
			t.Fatalf("%+v", terms)
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// What files say, and what clients send as a coupon, has the form that order_rules.lua reads.
func FuzzParse(f *testing.F) {
	f.Add(example, "2\nuser3\n", []byte("AB12-CD34"))
	f.Add("none\n", "", []byte{})
	f.Add("limit,*,1\nmembers,a,x\n", "\"2\n", []byte("a|;1:9:"))
	f.Add("limit,1,1\nhousehold,flat;1:x,3\n", "", []byte("ab12-cd34|\n"))
	household, coupon := regexp.MustCompile(`^[^|;:\pC]*$`), regexp.MustCompile(`^(|\?|[A-Z0-9-]{6,32})$`)
	foods := regexp.MustCompile(`^(;([0-9]+|\*):[0-9]?:(!|\?|([0-9]*-[0-9]*(,[0-9]*-[0-9]*)*)?))*$`)
	f.Fuzz(func(t *testing.T, text, other string, code []byte) {
		source := &Source{Files: []File{{"rules.csv", text}}}
		for _, name := range []string{"vip.txt", "codes.txt", "homes.csv", "x"} {
			source.Files = append(source.Files, File{name, other})
		}
		set, err := Parse(source, context)
		if err != nil {
			if !strings.Contains(err.Error(), ":") {
				t.Errorf("a fault without its place: %v", err)
			}
			return
		}
		rules := New(set)
		for user := range uint32(9) {
			var scratch [CodeMax]byte
			terms, _ := rules.For(user, code, scratch[:])
			if len(terms.Foods) > TermsMax || !foods.MatchString(terms.Foods) ||
				!household.MatchString(terms.Household) || !coupon.Match(terms.Coupon) {
				t.Errorf("terms %+v", terms)
			}
			rules.View(user)
		}
	})
}

// No name of a household, no coupon in the file and no bytes that a client sends as one change what else
// holds for an order: the limit does.
func FuzzOrder(f *testing.F) {
	cfg := saletest.Config(redistest.Start(f))
	cfg.Rules = true
	sale := saletest.Open(f, cfg, 1<<40)
	keys, carts := cfg.KeysOf(sale.ID(), 0), 0
	f.Add("smith", "CODE-1", []byte(" code-1 "), uint8(2))
	f.Add("flat;1:x", "CODE-1", []byte{}, uint8(1))
	f.Add("flat;1:9:;", "CODE-1", []byte{}, uint8(3))
	f.Add("smith", "CODE-1", []byte("CODE-1|;1:9:"), uint8(3))
	f.Add("smith", "CODE-1", []byte("code-1\n"), uint8(1))
	f.Add("smith", "CODE-1\x00", []byte("CODE-1\x00"), uint8(1))
	f.Fuzz(func(t *testing.T, household, code string, sent []byte, pieces uint8) {
		var text strings.Builder
		lines := csv.NewWriter(&text)
		testkit.Must(t, lines.WriteAll([][]string{{"limit", "1", "2"}, {"household", household, "2"},
			{"coupon", "fcode", code}}))
		set, err := Parse(&Source{Files: []File{{"rules.csv", text.String()}}}, context)
		if err != nil {
			return
		}
		carts++
		count, cart := int64(pieces%3+1), saletest.CartName(carts)
		redistest.Command(t, cfg.Network, cfg.Address, nil, "DEL", keys.Order(2), keys.Used)
		testkit.Must(t, sale.AddToCart(2, cart, 1, count))
		var scratch [CodeMax]byte
		terms, known := New(set).For(2, sent, scratch[:])
		var want error
		used := 2 // the household, and how many there are
		switch {
		case !known:
			want, used = redisx.ErrNoCoupon, 0
		case count > 2:
			want, used = redisx.ErrTooMany, 0
		case len(sent) > 0:
			used += 2
		}
		if err := sale.PlaceOrderUnder(terms, 2, cart, nil); !errors.Is(err, want) || want == nil && err != nil {
			t.Fatalf("%v with %+v, want %v", err, terms, want)
		}
		var fields int
		redistest.Command(t, cfg.Network, cfg.Address, &fields, "HLEN", keys.Used)
		if fields != used {
			t.Errorf("%d fields are used, want %d", fields, used)
		}
	})
}

func BenchmarkFor(b *testing.B) {
	rules := New(exampleSet(b))
	b.ReportAllocs()
	for b.Loop() {
		_, _ = rules.For(18, nil, nil)
	}
}
