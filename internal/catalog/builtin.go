package catalog

import (
	"context"
	"errors"
	"fmt"
	"strconv"
)

// builtIn is the generated catalogue, the same every time: user 1 is root, user i is user<i> with
// password pass<i>.
type builtIn struct {
	users, foods, stock int
	rootPassword        string
}

const (
	priceLow  = 3
	priceHigh = 30
	// priceStep shares no divisor with the 28 prices, so any 28 foods in a row have 28 different prices.
	priceStep = 11
)

func (b builtIn) String() string {
	return fmt.Sprintf("built in (%d users, %d foods)", b.users, b.foods)
}

func (b builtIn) name(t table) string { return "built in, table " + t.name }

func (b builtIn) rows(ctx context.Context, t table, visit rowVisitor) error {
	if b.rootPassword == "" {
		return errors.New("built in: root has no password; set one")
	}
	count, fill, optional := b.foods, b.food, builtInColumns
	if t.name == userTable.name {
		count, fill, optional = b.users, b.user, nil
	}
	r := t.row(b.name(t)+", row ", optional...)
	for i := 1; i <= count; i++ {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("cannot generate catalogue: %w", err)
		}
		r.row = i
		fill(i, r.fields)
		if err := visit(r); err != nil {
			return err
		}
	}
	return nil
}

func (b builtIn) user(i int, fields []string) {
	id := strconv.Itoa(i)
	fields[0], fields[1], fields[2] = id, "user"+id, "pass"+id
	if i == 1 {
		fields[1], fields[2] = rootName, b.rootPassword
	}
}

func (b builtIn) food(i int, fields []string) {
	price := priceLow + i*priceStep%(priceHigh-priceLow+1)
	fields[0], fields[1], fields[2] = strconv.Itoa(i), strconv.Itoa(b.stock), strconv.Itoa(price)
	goodsOf(i, fields[len(foodTable.columns):])
}
