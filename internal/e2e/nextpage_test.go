package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"flashsale/internal/testkit"
)

// nextPlan is the body of /admin/sale/next.
type nextPlan struct {
	Sale, Next           string
	Foods, Pieces, Users int
	SameFoods            bool `json:"same_foods"`
	Exported             bool
	Code, Message        string
}

// An operator opens the next sale by the API: with the catalogue as it is then, once. The orders of the sale
// before are kept.
func TestNextSaleByAPI(t *testing.T) {
	t.Parallel()
	testkit.Need(t, "redis-server")
	folder := t.TempDir()
	write := func(name, text string) {
		testkit.Must(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	write("users.csv", "id,name,password\n1,root,toor\n2,ann,secret2\n3,bob,secret3\n")
	write("foods.csv", "id,stock,price\n1,5,10\n2,5,20\n")
	args := []string{"-workers", "2", "-catalog-dir", folder}
	s := setup{args: args}.serve(t)
	first := s.Sale(t)
	buyer := s.client(t)
	testkit.Must(t, buyer.Login("ann", "secret2"))
	cart, err := buyer.Fill(item(1, 2))
	testkit.Must(t, err)
	order, err := buyer.Order(cart)
	testkit.Must(t, err)

	root := s.client(t)
	call := func(status int, method, body string) (p nextPlan) {
		t.Helper()
		reply, err := root.Do(method, "/admin/sale/next", body)
		testkit.Must(t, err)
		if reply.Status != status {
			t.Errorf("%s %s: %d %s, want %d", method, body, reply.Status, reply.Body, status)
		}
		testkit.Must(t, json.Unmarshal([]byte(reply.Body), &p))
		return p
	}
	testkit.Must(t, root.Login("root", rootPassword))
	want := nextPlan{Sale: first, Foods: 2, Pieces: 10, Users: 3, SameFoods: true}
	if p := call(200, "GET", ""); p != want {
		t.Errorf("the plan is %+v", p)
	}
	this := fmt.Sprintf(`{"id":%q,"opens_at":"2100-01-01T00:00:00Z"}`, first)
	testkit.Must(t, root.Call("PUT", "/admin/sale", `{"state":"closed"}`, nil))
	write("foods.csv", "id,stock,price\n1,5,10\nx,5,20\n")
	for _, method := range []string{"GET", "POST"} {
		p := call(409, method, this)
		if p.Code != "NEXT_SALE_FAILED" || !strings.Contains(p.Message, "foods.csv") {
			t.Errorf("a catalogue that cannot be read: %+v", p)
		}
	}
	write("foods.csv", "id,stock,price\n1,5,10\n2,5,20\n3,7,30\n")
	if p := call(200, "GET", ""); p.SameFoods || p.Foods != 3 || p.Pieces != 17 || p.Exported {
		t.Errorf("the plan with other foods is %+v", p)
	}
	opened := call(200, "POST", this)
	if opened.Next == "" || opened.Next == first || !opened.Exported {
		t.Errorf("the next sale is %+v", opened)
	}
	if text := testkit.ReadFile(t, filepath.Join(s.Data, "orders-"+first+".csv")); !strings.Contains(text,
		"\n"+order+",2,ann,1=2,1=10,20,") {
		t.Errorf("the file in the data folder is %q", text)
	}
	testkit.Until(t, "the server serves the next sale", func() bool {
		var sale struct{ ID, State string }
		return root.Call("GET", "/sale", "", &sale) == nil && sale.ID == opened.Next && sale.State == "scheduled"
	})
	if again := call(200, "POST", this); again.Next != opened.Next {
		t.Errorf("the same call again opens %s, want %s", again.Next, opened.Next)
	}
	testkit.Must(t, root.Call("PUT", "/admin/sale", `{"state":"open"}`, nil))
	testkit.Until(t, "a worker of the next sale has the buyer's connection", func() bool {
		buyer = s.client(t) // the workers are replaced one after the other: the sale before had no food 3
		testkit.Must(t, buyer.Login("ann", "secret2"))
		cart, err = buyer.Fill(item(3, 1))
		return err == nil
	})
	if id, err := buyer.Order(cart); err != nil || id != opened.Next+"-2" {
		t.Errorf("an order in the next sale: %s, %v", id, err)
	}
	log, err := root.Do("GET", "/admin/log", "")
	if err != nil || !strings.Contains(log.Body, `"by":"root","what":"opened","pieces":17,`) {
		t.Errorf("the log of the next sale is %s, %v", log.Body, err)
	}
	past, err := root.Do("GET", "/admin/orders/"+order, "")
	if want := fmt.Sprintf(`{"id":%q,"sale":%q,"user_id":2,"username":"ann","placed_at":`, order,
		first); err != nil || !strings.HasPrefix(past.Body, want) || !strings.HasSuffix(past.Body,
		`,"items":[{"food_id":1,"count":2,"price":10,"sum":20}],"total":20}`) {
		t.Errorf("the order of the sale before is %s, %v", past.Body, err)
	}
	for path, want := range map[string]string{
		"/admin/sales": fmt.Sprintf(`{"sale":%q,"previous":[%q]}`, opened.Next, first),
		"/admin/orders?sale=" + first: `[{"id":"` + order + `","user_id":2,` +
			`"items":[{"food_id":1,"count":2}],"total":20}]`,
	} {
		if reply, err := root.Do("GET", path, ""); err != nil || reply.Body != want {
			t.Errorf("%s: %s, %v", path, reply.Body, err)
		}
	}
	of := append([]string{"-data", s.Data}, args...)
	if kept := readExport(t, saleDone(t, of, "export", "-sale", first)); kept[order][1] != 2 {
		t.Errorf("the orders of the sale before are %v", kept)
	}
}
