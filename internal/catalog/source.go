package catalog

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
)

// Config names the source of the catalogue: the database if DB.Host is set, else CSV files if Dir is set,
// else built in.
type Config struct {
	Users, Foods int    // size of the built-in catalogue
	Stock        int    // pieces of each food in the built-in catalogue
	Dir          string // folder with users.csv and foods.csv
	DB           Database
	RootPassword string // of user 1; when set, in place of the source's; the built-in source needs it
	IDMax        uint32 // highest id that a user may have for Load, 0 for any
}

// Source names the source for people to read, without secrets: "built in (10000 users, 100 foods)", "CSV
// in DIR" or "MySQL eleme@host:3306".
func (c Config) Source() string { return c.source().String() }

// BuiltIn reports whether the catalogue is the built-in one.
func (c Config) BuiltIn() bool { return c.DB.Host == "" && c.Dir == "" }

// A source gives the rows of the two tables.
type source interface {
	String() string
	name(t table) string // of the table or its file, for people
	rows(ctx context.Context, t table, visit rowVisitor) error
}

// cutOff is the outcome of reading a table to its end when the last row may be only a part of one. All rows
// were visited.
type cutOff string

func (c cutOff) Error() string { return string(c) }

// tolerant reads a source that may be cut off, and remembers that it was.
type tolerant struct {
	source
	cutOff error
}

func (s *tolerant) rows(ctx context.Context, t table, visit rowVisitor) error {
	err := s.source.rows(ctx, t, visit)
	var found cutOff
	if errors.As(err, &found) {
		s.cutOff, err = found, nil
	}
	return err
}

// rowVisitor gets a row, which is valid only until it returns.
type rowVisitor func(r *row) error

// row is a row of a table as text.
type row struct {
	place
	columns []string // those of the table, then the optional ones that the source has
	fields  []string
}

// row makes room for rows with these optional columns.
func (t table) row(name string, optional ...string) *row {
	columns := append(slices.Clip(t.columns), optional...)
	return &row{place: place{table: name}, columns: columns, fields: make([]string, len(columns))}
}

// optional returns a field that the source may leave out, "" then.
func (r *row) optional(column string) string {
	if i := slices.Index(r.columns, column); i >= 0 {
		return r.fields[i]
	}
	return ""
}

// table is one of the two tables of the contest.
type table struct {
	name     string
	columns  []string
	optional *regexp.Regexp // further columns, which a source may leave out
	others   string         // what to write for them, for people
}

const document = "document"

var (
	userTable = table{name: "user", columns: []string{"id", "name", "password"},
		optional: regexp.MustCompile("^" + document + "$")}
	foodTable = table{name: "food", columns: []string{"id", "stock", "price"}, optional: goodsColumn,
		others: ", and if you like name, description, unit (each also with a language, as in name.en), image " +
			"and currency"}
)

// place is the place of a row, for people who have to fix it: "users.csv:17".
type place struct {
	table string // with the separator before the row's number
	row   int
}

func (p place) String() string { return p.table + strconv.Itoa(p.row) }

func (c Config) source() source {
	switch {
	case c.DB.Host != "":
		return c.DB
	case c.Dir != "":
		return csvFolder(c.Dir)
	default:
		return builtIn{users: c.Users, foods: c.Foods, stock: c.Stock, rootPassword: c.RootPassword}
	}
}

// Read streams the source: all foods are read and checked first, then each user is given to visit in the
// order of the source; the foods are returned at the end. Every row is checked for itself; only Load
// checks users against each other. An error of visit ends the reading and is returned as it is.
func Read(ctx context.Context, cfg Config, visit func(User) error) ([]Food, error) {
	src := &tolerant{source: cfg.source()}
	list, err := read(ctx, src, cfg.RootPassword, func(_ place, user User) error { return visit(user) })
	return list.foods, err
}

// FoodRows gives visit each row of the foods as it stands in the source, under the names of its columns; the
// first are id, stock and price. Nothing is checked: Read does that. visit must not keep the slices.
func FoodRows(ctx context.Context, cfg Config, visit func(columns, fields []string) error) error {
	src := &tolerant{source: cfg.source()}
	return src.rows(ctx, foodTable, func(r *row) error { return visit(r.columns, r.fields) })
}

// Load reads the source, checks all of it and packs it into a Catalog. Passwords stay only as keyed hashes,
// under a key made anew by every Load. It takes a source that may be cut off, too: see CutOff.
func Load(ctx context.Context, cfg Config) (*Catalog, error) {
	c, err := load(ctx, cfg.source(), cfg.RootPassword)
	if err != nil || cfg.IDMax == 0 {
		return c, err
	}
	if id := c.highestID(); id > cfg.IDMax {
		return nil, fmt.Errorf("%s: user %d has an id above %d, where -chat (CHAT) numbers people who register",
			cfg.Source(), id, cfg.IDMax)
	}
	return c, nil
}

func load(ctx context.Context, from source, rootPassword string) (*Catalog, error) {
	src := &tolerant{source: from}
	packer := newPacker()
	list, err := read(ctx, src, rootPassword, packer.add)
	if err != nil {
		return nil, err
	}
	if !packer.hasRoot {
		return nil, fmt.Errorf("%v: user 1 is missing; add user 1 named %s", src, rootName)
	}
	image, err := packer.finish(list)
	if err != nil {
		return nil, err
	}
	c, err := view(image)
	if err != nil {
		return nil, err
	}
	c.root, c.others, c.cutOff, c.pictures = packer.root, packer.others, src.cutOff, list.pictures
	return c, nil
}

func read(
	ctx context.Context, src source, rootPassword string, visit func(place, User) error,
) (list foodList, err error) {
	if list, err = readFoods(ctx, src); err != nil {
		return foodList{}, err
	}
	users := 0
	err = src.rows(ctx, userTable, func(r *row) error {
		if users++; users > usersMax {
			return fmt.Errorf("%v: more than %d users; remove some", r, usersMax)
		}
		user, err := parseUser(r, rootPassword)
		if err != nil {
			return err
		}
		return visit(r.place, user)
	})
	if err != nil {
		return foodList{}, err
	}
	if users == 0 {
		return foodList{}, fmt.Errorf("%v: no users; add at least user 1 named %s", src, rootName)
	}
	return list, nil
}
