package compare

import (
	"fmt"
	"testing"

	"flashsale/internal/catalog"
	"flashsale/scripts/bench/sale"
)

func TestForeignSideSeesEachUserOnce(t *testing.T) {
	c := &comparison{sale: &sale.Sale{}, used: 5}
	for id := range uint32(20) {
		c.sale.Users = append(c.sale.Users, catalog.User{ID: id + 1})
	}
	for foreign, want := range map[bool]string{false: "[2 3 4]", true: "[7 8 9]"} {
		s := &Side{program: productProgram}
		if foreign {
			s.program = ""
		}
		var ids []uint32
		for _, u := range c.pick(s, 3) {
			ids = append(ids, u.ID)
		}
		if fmt.Sprint(ids) != want {
			t.Errorf("foreign %t: users %v, want %s", foreign, ids, want)
		}
	}
}
