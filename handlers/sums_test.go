package handlers

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"flashsale/internal/rooms/demand"
	"flashsale/internal/testkit"
	"flashsale/redisx/redistest"
)

// withSums serves the sums.
func (s *shop) withSums(t *testing.T, server *redistest.Server) {
	t.Helper()
	d := demand.New(demand.Config{Redis: s.redis.Room(demand.HashTag), Sale: s.cfg.Sale.ID(), Foods: 5})
	testkit.Background(t, d.Run)
	s.join(Sums(d))
	testkit.Until(t, "connection for the sums", func() bool {
		_, err := d.Read()
		return err == nil
	})
}

// What is sold, what was refused and since when nothing is left stands in the sums, also as CSV.
func TestSums(t *testing.T) { onEngines(t, testSums) }

func testSums(t *testing.T, open opener) {
	server := redistest.New(t)
	s := open(t, "unix", server.Socket)
	s.withSums(t, server)
	s.expect(t, rootUser, "POST", "/admin/foods/2/stock", `{"add":-9}`, 200,
		fmt.Sprintf(`{"id":2,"price":%d,"stock":1}`, s.price(2)))
	s.expect(t, 2, "POST", "/orders", s.fill(t, 2, 2, 1), 200, s.orderID(2))
	s.expect(t, 3, "POST", "/orders", s.fill(t, 3, 1, 3), 200, s.orderID(3))
	s.expect(t, 4, "POST", "/orders", s.fill(t, 4, 2, 2), 403, outOfStock)
	for range 2 {
		s.expect(t, 4, "POST", "/orders?details=1", fmt.Sprintf(`{"cart_id":"%s"}`, s.cartOf(4)), 403,
			strings.TrimSuffix(outOfStock, "}")+`,"details":[{"food_id":2,"count":2,"stock":0}]}`)
	}
	testkit.Until(t, "counted refusals", func() bool {
		_, body, _ := s.call(t, rootUser, "GET", "/admin/sums", "")
		return strings.Contains(body, `"refused_orders":3,"refused_pieces":4,"refused_unnamed":1}}`)
	})
	_, body, _ := s.call(t, rootUser, "GET", "/admin/sums?language=zh", "")
	var told struct {
		State  string
		Opened time.Time `json:"opened_at"`
		Orders int
		Foods  []struct {
			Name  string
			Sold  int
			At    *time.Time `json:"sold_out_at"`
			After int64      `json:"sold_out_after_ms"`
		}
	}
	testkit.Must(t, json.Unmarshal([]byte(body), &told))
	second := told.Foods[1]
	if told.State != "open" || told.Orders != 2 || len(told.Foods) != 5 || second.Name != "香辣水饺" ||
		second.At == nil || second.At.Sub(told.Opened).Milliseconds() != second.After || second.After <= 0 {
		t.Errorf("%s", body)
	}
	for _, want := range []string{
		fmt.Sprintf(`{"food_id":1,"name":"香辣拉面","price":%d,"initial":10,"restocked":0,"left":7,"sold":3,`+
			`"revenue":%d,"sold_out_at":null,"sold_out_after_ms":null,"refused_orders":0,"refused_pieces":0}`,
			s.price(1), 3*s.price(1)),
		`"initial":10,"restocked":-9,"left":0,"sold":1,`, `"refused_orders":2,"refused_pieces":4}`,
		fmt.Sprintf(`],"total":{"initial":50,"restocked":-9,"left":37,"sold":4,"revenue":%d,"refused_orders":3,`+
			`"refused_pieces":4,"refused_unnamed":1}}`, 3*s.price(1)+s.price(2)),
	} {
		if !strings.Contains(body, want) {
			t.Errorf("%s\nwithout %s", body, want)
		}
	}
	_, table, header := s.call(t, rootUser, "GET", "/admin/sums?format=csv&bom=1", "")
	lines := strings.Split(table, "\r\n")
	row := fmt.Sprintf("1,Spicy noodles,%d,10,0,7,3,%d,,%[1]d,%[2]d,,,0,0", s.price(1), 3*s.price(1))
	if len(lines) != 7 || !strings.HasPrefix(lines[0], "\xEF\xBB\xBFfood_id,food_name,") || lines[1] != row ||
		header.Get("Content-Disposition") != `attachment; filename="sums-`+s.cfg.Sale.ID()+`.csv"` {
		t.Errorf("%v %q", header, table)
	}
	s.expect(t, rootUser, "GET", "/admin/sums?format=jsonl", "", 400,
		`{"code":"INVALID_FORMAT","message":"format 须为 csv 或 jsonl"}`)
	s.expect(t, 2, "GET", "/admin/sums", "", 403, notAllowed)
	s.expect(t, 0, "GET", "/admin/sums", "", 401, invalidToken)
	s.fillLists()
	s.expect(t, rootUser, "GET", "/admin/sums", "", 429, tooMany)
	s.freeLists()
	server.Kill(t)
	s.expect(t, rootUser, "GET", "/admin/sums", "", 503, unavailable)
	awaitNoLists(t, s)
}

// While buyers order and root restocks, every reading of the sums adds up; at the end they are what the
// orders have.
func TestSumsAddUp(t *testing.T) {
	onEngines(t, func(t *testing.T, open opener) {
		one := redistest.Start(t)
		for name, address := range map[string]string{"one Redis": one.Socket,
			"slices": one.Socket + "," + redistest.New(t).Socket} {
			t.Run(name, func(t *testing.T) { testSumsAddUp(t, open, redistest.Start(t), address) })
		}
	})
}

func testSumsAddUp(t *testing.T, open opener, server *redistest.Server, address string) {
	s := open(t, "unix", address)
	s.withSums(t, server)
	type food struct {
		Food                                    int64 `json:"food_id"`
		Initial, Restocked, Left, Sold, Revenue int64
	}
	var told struct {
		Orders int
		Foods  []food
		Total  food
	}
	read := func() {
		t.Helper()
		_, body, _ := s.call(t, rootUser, "GET", "/admin/sums", "")
		told.Foods = nil
		testkit.Must(t, json.Unmarshal([]byte(body), &told))
		var sum food
		for _, f := range told.Foods {
			if f.Initial+f.Restocked != f.Left+f.Sold || f.Left < 0 || f.Sold < 0 ||
				f.Revenue != f.Sold*s.price(f.Food) {
				t.Errorf("it does not add up: %+v", f)
			}
			sum = food{0, sum.Initial + f.Initial, sum.Restocked + f.Restocked, sum.Left + f.Left,
				sum.Sold + f.Sold, sum.Revenue + f.Revenue}
		}
		if sum != told.Total {
			t.Errorf("the total is %+v, the foods have %+v", told.Total, sum)
		}
	}
	var buyers sync.WaitGroup
	for user := uint32(2); user <= 20; user++ {
		order := s.fill(t, user, 1+int(user)%3, 1+int(user)%3)
		buyers.Go(func() { s.call(t, user, "POST", "/orders?details=1", order) })
		if user%4 == 0 {
			buyers.Go(func() { s.call(t, rootUser, "POST", "/admin/foods/2/stock", `{"add":1}`) })
			buyers.Go(func() { s.call(t, rootUser, "POST", "/admin/foods/3/stock", `{"add":-1}`) })
		}
		read()
	}
	buyers.Wait()
	read()
	var orders []struct {
		Items []struct{ Food_id, Count int64 }
	}
	_, list, _ := s.call(t, rootUser, "GET", "/admin/orders", "")
	testkit.Must(t, json.Unmarshal([]byte(list), &orders))
	sold := make([]int64, 6)
	for _, order := range orders {
		for _, item := range order.Items {
			sold[item.Food_id] += item.Count
		}
	}
	for _, f := range told.Foods {
		if f.Sold != sold[f.Food] {
			t.Errorf("food %d has sold %d, the orders have %d", f.Food, f.Sold, sold[f.Food])
		}
	}
	if told.Orders != len(orders) || told.Total.Sold == 0 {
		t.Errorf("%d orders, %d in the list", told.Orders, len(orders))
	}
}
