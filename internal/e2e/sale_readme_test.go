package e2e

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"flashsale/internal/testkit"
)

var (
	saleExample = regexp.MustCompile("(?s)```http\n([A-Z]+) (\\S+) ?(.*?)\n\n(\\d+) (.*?)\n```")
	// What differs from one sale to the next.
	saleOwn = regexp.MustCompile(`"(id":"|at":"|now":"|price":)[^",]*`)
)

// Each call in redisx/README.md, in its order, has the answer that stands there.
func TestSaleExamples(t *testing.T) {
	t.Parallel()
	s := setup{args: []string{"-users", "3", "-foods", "1", "-stock", "100", "-workers", "1"}}.serve(t)
	_, err := s.client(t).Buy(2, item(1, 1))
	testkit.Must(t, err)
	s.awaitStock(t, map[int]int{1: 99})
	text, err := os.ReadFile(root + "redisx/README.md")
	testkit.Must(t, err)
	examples := saleExample.FindAllStringSubmatch(string(text), -1)
	if len(examples) != strings.Count(string(text), "```http") || len(examples) < 4 {
		t.Fatalf("%d examples can be read", len(examples))
	}
	c := s.root(t)
	for _, example := range examples {
		method, path, body, want := example[1], example[2], example[3], example[5]
		r, err := c.Do(method, path, body)
		testkit.Must(t, err)
		got := saleOwn.ReplaceAllString(r.Body, `"$1`)
		if r.Status != 200 || example[4] != "200" || got != saleOwn.ReplaceAllString(want, `"$1`) {
			t.Errorf("%s %s: %d %s\nwant %s %s", method, path, r.Status, r.Body, example[4], want)
		}
	}
}
