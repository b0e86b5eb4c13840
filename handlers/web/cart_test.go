//go:build !race

package web_test

import (
	"testing"
)

// What is ordered is what the page shows: also when the answer to a change was lost, and when the server has
// forgotten the cart meanwhile.
func orderIsWhatIsShown(t *testing.T, s *shop) {
	order := func(p *tab, user, want string) {
		t.Helper()
		p.untilText("cart-items", want)
		p.click("#order:not(:disabled)")
		p.untilText("receipt-id", s.Sale(t)+"-"+user)
		p.untilText("receipt-items", want)
		if n := p.js(`return String(document.querySelectorAll("#receipt-items li").length)`); n != "1" {
			t.Errorf("user %s has ordered %s foods, want 1", user, n)
		}
	}

	lost := open(t, s.Address, "buy")
	lost.logIn("user21", "pass21")
	lost.js(`const send = window.fetch;
		let lost = false;
		window.fetch = async (path, options) => {
			const reply = await send(path, options);
			if (options?.method === "PATCH" && !lost) {
				lost = true;
				throw new TypeError("no answer");
			}
			return reply;
		};`)
	lost.click(`#foods li[data-food="1"] button[data-count="1"]`)
	lost.untilText("buy-message", "The server cannot be reached")
	lost.untilNoText("buy-message") // it was reached since
	lost.click(`#foods li[data-food="1"] button[data-count="1"]`)
	order(lost, "21", "1 × Spicy noodles")

	late := open(t, s.Address, "buy")
	late.logIn("user22", "pass22")
	late.click(`#foods li[data-food="2"] button[data-count="1"]`)
	late.untilText("cart-items", "1 × Spicy dumplings")
	const forget = `for _, cart in ipairs(redis.call('KEYS', 'c_*')) do redis.call('DEL', cart) end return 1`
	if reply := s.redis.Do(t, `EVAL "`+forget+`" 0`); reply != ":1" {
		t.Fatal(reply)
	}
	order(late, "22", "1 × Spicy dumplings")

	// One that is old is made anew before the server forgets it: a further piece would begin it again.
	old := open(t, s.Address, "buy")
	old.logIn("user23", "pass23")
	old.click(`#foods li[data-food="3"] button[data-count="1"]`)
	old.untilText("cart-items", "1 × Spicy fried rice")
	old.js(`window.clock = Date.now; Date.now = () => window.clock() + 21 * 60_000;`)
	old.until("a cart of its own", `JSON.parse(sessionStorage.getItem("buyer")).made > window.clock() + 60_000`)
	old.click(`#foods li[data-food="3"] button[data-count="1"]`)
	order(old, "23", "2 × Spicy fried rice")
}
