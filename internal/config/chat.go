package config

import (
	"fmt"
	"net/url"
	"time"

	"flashsale/internal/catalog"
	"flashsale/redisx"
)

type chatFlags struct {
	Chat              bool
	ChatFanout        int           // members
	ChatMessages      int           // of a thread in Redis
	ChatAge           time.Duration // of a message in Redis
	AccountsMax       int           // users who may register
	RoomPace          time.Duration // 0: no slow mode
	RegisteredBuyers  bool
	PushAddress       string        // host:port
	PushURL           string        // "": clients connect to PushAddress
	PushOrigins       string        // with commas between them
	PushIdle          time.Duration // 0: never
	PushOfflineURL    string        // "" for none
	PushOfflineSecret string        // "" without PushOfflineURL
}

func (c *chatFlags) add(f *Flags, users *catalog.Config) {
	f.Group("Conversation")
	f.Switch(&c.Chat, "chat", "people may register, write to each other and see who is online; without it "+
		"all of this is 404")
	f.Number(&c.ChatFanout, "chat-fanout", 500, 2, 10_000, "`members` of a thread from which on a message is "+
		"no longer noted for each of them, but looked up when a member lists the threads")
	f.Number(&c.ChatMessages, "chat-messages", 1000, 10, 100_000, "newest `messages` of a thread that Redis "+
		"keeps; with -ledger the older ones stay readable")
	f.Time(&c.ChatAge, "chat-age", 30*24*time.Hour, time.Minute, 366*24*time.Hour, "`time` that Redis "+
		"keeps a message")
	f.Number(&c.AccountsMax, "accounts-max", 1_000_000, 1, 10_000_000, "`users` who may register; each takes "+
		"about 700 bytes of Redis")
	f.Time(&c.RoomPace, "room-pace", 2*time.Second, 0, time.Hour, "`time` between two messages of a user in "+
		"the room of the sale; 0 for no slow mode")
	f.SwitchOff(&c.RegisteredBuyers, "registered-buyers", "people who have registered may order too; =false: "+
		"only users of the catalogue may")
	f.Text(&c.PushAddress, "push-address", "127.0.0.1:8090", "`host:port` where clients hold a websocket "+
		"for pushes. GET /push names it to them; with the host 0.0.0.0 or :: it names the host that they "+
		"have used, so servers behind one name need the same port")
	f.Text(&c.PushURL, "push-url", "", "`URL` at which clients reach that websocket through a front, as "+
		"wss://push.shop.example/connection/websocket; without it -push-address")
	f.Text(&c.PushOrigins, "push-origins", "", "`origins` with commas between them, as "+
		"https://shop.example, whose pages may open that websocket too, besides this server's own page")
	f.Time(&c.PushIdle, "push-idle", 10*time.Minute, 0, 24*time.Hour, "`time` without activity after which "+
		"a client is asked to go on by polling; 0 for never")
	f.Text(&c.PushOfflineURL, "push-offline-url", "", "`URL` that gets a signed POST for a message "+
		"to a user who is not connected (Standard Webhooks)")
	f.Secret(&c.PushOfflineSecret, "push-offline-secret", "", "`key` that signs these posts, whsec_ and "+
		"base64; better set in the environment")
	f.needs([]string{"chat"}, "chat-fanout", "chat-messages", "chat-age", "accounts-max", "room-pace",
		"registered-buyers", "push-address", "push-url", "push-origins", "push-idle", "push-offline-url")
	f.needs([]string{"push-offline-url"}, "push-offline-secret")
	f.Check(func() error {
		if c.Chat {
			users.IDMax = redisx.FirstRegistered - 1
		}
		return c.checkPushURL(f)
	})
}

func (c *chatFlags) checkPushURL(f *Flags) error {
	if c.PushURL == "" {
		return nil
	}
	at, err := url.Parse(c.PushURL)
	if err != nil || at.Scheme != "ws" && at.Scheme != "wss" || at.Hostname() == "" || at.User != nil ||
		at.RawQuery != "" || at.Fragment != "" {
		return fmt.Errorf("%s is %q; it must be the URL of a websocket, as "+
			"wss://push.shop.example/connection/websocket", f.source("push-url"), c.PushURL)
	}
	c.PushURL = at.String() // WSS:// is wss://
	return nil
}

// Registered is how many people may register.
func (c *chatFlags) Registered() int {
	if !c.Chat {
		return 0
	}
	return c.AccountsMax
}
