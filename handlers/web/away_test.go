//go:build !race

package web_test

import (
	"fmt"
	"testing"

	"flashsale/internal/testkit"
)

// A tab that nobody looks at is told to poll. When it is looked at again, it begins at its place; where the
// messages after that are gone from Redis it reads what is left, and shows no hole. One that is looked at
// polls, until it is touched.
func TestChatAfterIdling(t *testing.T) {
	t.Parallel()
	const kept = 10
	s := newTalker(t, nil, "-limits", "off", "-push-idle", "1s", "-chat-messages", fmt.Sprint(kept))
	thread := s.conversation(t, 3)
	p := open(t, s.Address, "chat")
	p.logIn("user9", "pass9")
	p.choose("user3")
	p.past("message 1", "message 2", "message 3")
	p.live()
	p.js(`const { pushes } = await import("/web/pushes.js");
		const begun = pushes.on.begun;
		pushes.on.begun = (id, recovered, epoch) => { window.recovered = recovered; begun(id, recovered, epoch); };
		window.look = (is) => {
			Object.defineProperty(document, "hidden", { value: !is, configurable: true });
			document.dispatchEvent(new Event("visibilitychange"));
		};
		look(false);`)
	polls := `document.getElementById("chat-state").dataset.link === "poll"`
	p.until("a tab that is to poll", polls)
	c := s.client(t)
	testkit.Must(t, c.LoginUser(3))
	const last = 5 * kept
	for i := 4; i <= last; i++ {
		s.say(t, c, thread, fmt.Sprint("message ", i))
	}
	p.js(`look(true);`)
	p.until("the newest messages without a hole", fmt.Sprintf(`(() => {
		const ids = [...document.querySelectorAll("#messages li")].map((e) => Number(e.dataset.id));
		return ids[0] > 3 && ids.at(-1) === %[1]d && ids.length === %[1]d - ids[0] + 1; })()`, last))
	p.until("pushes that could not recover", `window.recovered === false`)
	p.js(`document.getElementById("past").scrollTo(0, 0)`)
	p.until("no older ones", `document.getElementById("older").hidden`)

	// Heartbeats over the websocket are activity: here they go another way.
	p.js(`(await import("/web/pushes.js")).pushes.ask = () => Promise.reject();`)
	p.until("a page that is to poll", polls)
	s.say(t, c, thread, "by polling")
	p.untilText("messages", "by polling")
	p.click("#to-end")
	p.live()
}
