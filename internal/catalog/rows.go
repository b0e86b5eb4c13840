package catalog

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
)

const (
	rootName = "root"

	usersMax         = 15_000_000 // keeps the records of users below 4 GiB, so that 32 bits hold an offset
	foodsMax         = 1_000_000  // GET /foods answers with all of them in one body
	userIDMax        = math.MaxUint32
	nameBytesMax     = 255
	passwordBytesMax = 255
	// amountMax bounds stock and price: three pieces at this price are still exact in the doubles of Lua
	// and JSON.
	amountMax = 1_000_000_000_000_000
)

// parseUser makes a user of one row. A rootPassword that is set takes the place of user 1's own.
func parseUser(r *row, rootPassword string) (User, error) {
	at, fields := r.place, r.fields
	id, err := wholeNumber(at, "id", fields[0], 1, userIDMax)
	if err != nil {
		return User{}, err
	}
	user := User{ID: uint32(id), Name: fields[1], Password: fields[2]}
	if user.ID == 1 && rootPassword != "" {
		user.Password = rootPassword
	}
	if err := checkText(at, "name", user.Name, nameBytesMax); err != nil {
		return User{}, err
	}
	if err := checkText(at, "password", user.Password, passwordBytesMax); err != nil {
		return User{}, err
	}
	user.Document, err = parseDocument(at, r.optional(document))
	return user, err
}

var passport = regexp.MustCompile(`^([0-9]{4}),([0-9]{6})$`)

// parseDocument reads a passport's four digits of series, a comma and six digits of number.
func parseDocument(at place, text string) (Document, error) {
	if text == "" {
		return 0, nil
	}
	digits := passport.FindStringSubmatch(text)
	if digits == nil {
		return 0, fmt.Errorf("%v: document %.40q is not four digits, a comma and six digits", at, text)
	}
	n, err := strconv.ParseUint(digits[1]+digits[2], 10, 64)
	return Document(n + 1), err
}

// parseFood makes a food of one row. Its price is in the minor unit of the currency, "" for none.
func parseFood(r *row, currency string) (food Food, err error) {
	at, fields := r.place, r.fields
	if food.ID, err = wholeNumber(at, "id", fields[0], 1, foodsMax); err != nil {
		return Food{}, err
	}
	if food.Stock, err = wholeNumber(at, "stock", fields[1], 0, amountMax); err != nil {
		return Food{}, err
	}
	food.Price, err = parsePrice(at, fields[2], currency)
	return food, err
}

func wholeNumber(at place, column, text string, least, most int64) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < least || n > most {
		return 0, fmt.Errorf("%v: %s %.40q is not a whole number from %d to %d", at, column, text, least, most)
	}
	return n, nil
}

func checkText(at place, column, text string, bytesMax int) error {
	if text == "" {
		return fmt.Errorf("%v: %s is empty; give the user one", at, column)
	}
	if len(text) > bytesMax {
		return fmt.Errorf("%v: %s has %d bytes; shorten it to at most %d", at, column, len(text), bytesMax)
	}
	return nil
}

// foodRow is a food that remembers where it was read.
type foodRow struct {
	Food
	Goods
	at place
}

// foodList is all foods.
type foodList struct {
	foods    []Food
	goods    goodsList
	pictures []Picture
}

// readFoods returns the foods by id. They may be in any order in the source.
func readFoods(ctx context.Context, src source) (foodList, error) {
	var rows []foodRow
	var reader goodsReader
	err := src.rows(ctx, foodTable, func(r *row) error {
		if len(rows) == foodsMax {
			return fmt.Errorf("%v: more than %d foods; remove some", r, foodsMax)
		}
		goods, err := reader.read(r)
		if err != nil {
			return err
		}
		food, err := parseFood(r, reader.currency)
		rows = append(rows, foodRow{food, goods, r.place})
		return err
	})
	if err != nil {
		return foodList{}, err
	}
	if len(rows) == 0 {
		return foodList{}, fmt.Errorf("%v: no foods; add at least one", src)
	}
	slices.SortStableFunc(rows, func(a, b foodRow) int { return cmp.Compare(a.ID, b.ID) })
	list := foodList{pictures: reader.pictures, goods: goodsList{Currency: reader.currency}}
	if list.foods, err = contiguous(rows); err == nil && reader.textBytes > 0 {
		for _, row := range rows {
			list.goods.Foods = append(list.goods.Foods, row.Goods)
		}
	}
	return list, err
}

// contiguous returns the foods of sorted rows. Their ids must be 1, 2, 3 and so on.
func contiguous(rows []foodRow) ([]Food, error) {
	foods := make([]Food, 0, len(rows))
	for i, row := range rows {
		want := int64(i + 1)
		if row.ID < want {
			return nil, fmt.Errorf("%v: food %d is also at %v; give each food an id of its own", row.at, row.ID,
				rows[i-1].at)
		}
		if row.ID > want {
			return nil, fmt.Errorf("%v: food %d is here but food %d is missing; number the foods from 1 without gaps",
				row.at, row.ID, want)
		}
		foods = append(foods, row.Food)
	}
	return foods, nil
}
