package handlers

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"flashsale/internal/catalog"
	"flashsale/internal/testkit"
)

// serveFoods makes the shop's catalogue one of these foods, as foods.csv has them.
func (s *shop) serveFoods(t *testing.T, foods string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"users.csv": "id,name,password\n1,root,r\n", "foods.csv": foods} {
		testkit.Must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	c, err := catalog.Load(t.Context(), catalog.Config{Dir: dir})
	testkit.Must(t, err)
	s.do(func() { s.cfg.Catalog, s.goods = c, newGoodsTexts(c) })
}

// The list with details has the goods in all languages, and the plain one stays as the contest has it.
func TestDetailedFoods(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		s.serveFoods(t, "id,stock,price,currency,name,name.zh,description.en,unit,image\n"+
			"1,5,12.50,CNY,\"Tom's <b>\",汤,Hot,bowl,soup.jpg\n2,0,3,CNY,,,,,/p/2.png\n")
		found := snapshotOf([]int64{5, 0})
		found.SoldOut[1] = time.Date(2026, 11, 22, 10, 0, 0, 123e6, time.UTC)
		s.Publish(found)
		const first = `{"id":1,"price":1250,"stock":5`
		const second = `{"id":2,"price":300,"stock":0`
		want := `[` + first + `,"sold_out_at":null,"currency":"CNY","decimals":2,"name":"Tom's \u003cb\u003e",` +
			`"names":{"zh":"汤"},"description":"Hot","descriptions":{"en":"Hot"},"unit":"bowl",` +
			`"image":"/images/soup.jpg"},` + second +
			`,"sold_out_at":"2026-11-22T10:00:00.123Z","currency":"CNY","decimals":2,"image":"/p/2.png"}]`
		for range 2 {
			s.expect(t, 2, "GET", "/foods?details=1", "", 200, want)
			s.expect(t, 2, "GET", "/foods?details=1&access_token="+s.token(2), "", 200, want)
			s.expect(t, 2, "GET", "/foods", "", 200, "["+first+"},"+second+"}]")
			s.expect(t, 2, "GET", "/foods?details=2", "", 200, "["+first+"},"+second+"}]")
		}
		s.expect(t, 0, "GET", "/foods?details=1", "", 401, invalidToken)
		found = snapshotOf([]int64{5, 1})
		s.Publish(found)
		want = strings.Replace(want, `0,"sold_out_at":"2026-11-22T10:00:00.123Z"`, `1,"sold_out_at":null`, 1)
		s.expect(t, 2, "GET", "/foods?details=1", "", 200, want)
		s.foods.Store(nil)
		s.expect(t, 2, "GET", "/foods?details=1", "", 503, unavailable)
	})
}

// Without goods the details are only since when a food is sold out; a long list is sent by a goroutine.
func TestDetailedFoodsWithoutGoods(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		s.serveFoods(t, "id,stock,price\n1,5,12\n")
		s.Publish(snapshotOf([]int64{5}))
		s.expect(t, 2, "GET", "/foods?details=1", "", 200, `[{"id":1,"price":12,"stock":5,"sold_out_at":null}]`)

		text := strings.Repeat("d", 2000)
		var foods, want strings.Builder
		foods.WriteString("id,stock,price,description\n")
		left := make([]int64, 2*listBytesMax/len(text))
		for i := range left {
			fmt.Fprintf(&foods, "%d,0,1,%s\n", i+1, text)
			fmt.Fprintf(&want, `,{"id":%d,"price":1,"stock":0,"sold_out_at":null,"description":%q}`, i+1, text)
		}
		s.serveFoods(t, foods.String())
		s.Publish(snapshotOf(left))
		s.expect(t, 2, "GET", "/foods?details=1", "", 200, "["+want.String()[1:]+"]")
	})
}
