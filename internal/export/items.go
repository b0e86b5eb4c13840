package export

import (
	"encoding/json"
	"strconv"

	"flashsale/redisx"
)

const itemsHead = "placed_at,order_id,user_id,user_name,food_id,food_name,count,price,sum,currency," +
	"price_minor,sum_minor"

// appendItemRows appends a row of CSV for each item of an order.
func (b *Book) appendItemRows(dst []byte, order *redisx.Order, name string) []byte {
	for _, item := range order.Items {
		price := b.Price(item.Food)
		dst = append(appendTime(dst, order.Placed), ',')
		dst = append(redisx.AppendOrderID(dst, b.Sale, order.User, order.Hold.Number), ',')
		dst = append(strconv.AppendUint(dst, uint64(order.User), 10), ',')
		dst = append(AppendField(dst, name), ',')
		dst = append(strconv.AppendInt(dst, item.Food, 10), ',')
		dst = append(AppendField(dst, b.food(item.Food)), ',')
		dst = append(strconv.AppendInt(dst, item.Count, 10), ',')
		dst = append(AppendMoney(dst, price, b.Decimals), ',')
		dst = append(AppendMoney(dst, price*item.Count, b.Decimals), ',')
		dst = append(append(dst, b.Currency...), ',')
		dst = append(strconv.AppendInt(dst, price, 10), ',')
		dst = b.endRow(strconv.AppendInt(dst, price*item.Count, 10), order)
	}
	return dst
}

// itemLine is an item as a line of JSON. Amounts are in minor units, as everywhere in the API.
type itemLine struct {
	Placed   string `json:"placed_at"`
	Order    string `json:"order_id"`
	User     uint32 `json:"user_id"`
	Name     string `json:"username"`
	Food     int64  `json:"food_id"`
	FoodName string `json:"food_name"`
	Count    int64  `json:"count"`
	Price    int64  `json:"price"`
	Sum      int64  `json:"sum"`
	Currency string `json:"currency"`
	Decimals int    `json:"decimals"`

	State redisx.HoldState `json:"state,omitempty"`
}

// appendItemObjects appends a line with an object for each item of an order.
func (b *Book) appendItemObjects(dst []byte, order *redisx.Order, name string) []byte {
	for _, item := range order.Items {
		price := b.Price(item.Food)
		line, _ := json.Marshal(itemLine{ // texts and numbers never fail
			Placed: string(appendTime(nil, order.Placed)), User: order.User, Name: name,
			Order: string(redisx.AppendOrderID(nil, b.Sale, order.User, order.Hold.Number)),
			Food:  item.Food, FoodName: b.food(item.Food), Count: item.Count, Price: price,
			Sum: price * item.Count, Currency: b.Currency, Decimals: b.Decimals, State: order.Hold.State})
		dst = append(append(dst, line...), '\n')
	}
	return dst
}

func (b *Book) food(id int64) string {
	if b.Foods == nil {
		return ""
	}
	return b.Foods(id)
}

// AppendMoney appends an amount of minor units as a decimal number: 1250 with two decimals is 12.50.
func AppendMoney(dst []byte, amount int64, decimals int) []byte {
	digits := strconv.FormatInt(amount, 10)
	if decimals == 0 {
		return append(dst, digits...)
	}
	if amount < 0 {
		dst, digits = append(dst, '-'), digits[1:]
	}
	for len(digits) <= decimals {
		digits = "0" + digits
	}
	point := len(digits) - decimals
	dst = append(append(dst, digits[:point]...), '.')
	return append(dst, digits[point:]...)
}
