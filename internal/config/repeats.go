package config

import (
	"errors"
	"fmt"
	"net/url"
	"time"
)

type repeatsFlags struct {
	Repeats        bool
	RepeatsWindow  time.Duration // in whole seconds
	RepeatsMemory  int           // MB
	VKConfirmation string        // "" if the flags name no group
	VKSecret       string
	VKToken        string
	VKAPI          string
	VKQueue        int

	groups string // file
}

// vkAPI is the default of -vk-api.
const vkAPI = "https://api.vk.com"

func (c *repeatsFlags) add(f *Flags) {
	f.Group("Repeated messages")
	f.Switch(&c.Repeats, "repeats", "count how often a text came: POST /repeats")
	f.Time(&c.RepeatsWindow, "repeats-window", 24*time.Hour, time.Second, 31*24*time.Hour,
		"`time` over which a text is counted, in whole seconds, the same on all servers")
	f.Check(func() error {
		if c.RepeatsWindow%time.Second != 0 {
			return fmt.Errorf("%s is %v; it must be a whole number of seconds", f.source("repeats-window"),
				c.RepeatsWindow)
		}
		return nil
	})
	f.Number(&c.RepeatsMemory, "repeats-memory", 64, 1, 1_000_000, "`megabytes` of Redis that the counts may "+
		"take; then texts are answered and not recorded")
	f.Text(&c.VKConfirmation, "vk-confirmation", "", "`text` that VK's Callback API wants to see from this "+
		"server: a VK bot answers each message with its count (POST /vk/callback)")
	f.Secret(&c.VKSecret, "vk-secret", "", "secret `key` that VK sends with each event; better set in the "+
		"environment")
	f.Secret(&c.VKToken, "vk-token", "", "access `token` of the VK group, to send the answers; better set in "+
		"the environment")
	f.Text(&c.groups, "vk-groups", "", "CSV `file` of several groups instead, with a header group_id,"+
		"confirmation,secret,token; SIGHUP reads it again")
	f.Text(&c.VKAPI, "vk-api", vkAPI, "`URL` of VK's API")
	f.Number(&c.VKQueue, "vk-queue", 10_000, 1, 1_000_000, "`number` of answers of each group that may wait "+
		"in Redis; further messages get 503, and VK sends them again")
	f.needs([]string{"repeats"}, "repeats-window", "repeats-memory", "vk-confirmation", "vk-groups")
	f.needs([]string{"vk-confirmation"}, "vk-secret", "vk-token")
	f.needs([]string{"vk-confirmation", "vk-groups"}, "vk-api", "vk-queue")
	f.Check(c.check)
}

func (c *repeatsFlags) check() error {
	if c.VKConfirmation != "" && c.groups != "" {
		return errors.New("-vk-confirmation (VK_CONFIRMATION) and -vk-groups (VK_GROUPS) are both set; set one " +
			"of them")
	}
	api, err := url.Parse(c.VKAPI)
	if err != nil || api.Scheme != "https" && api.Scheme != "http" || api.Host == "" {
		return fmt.Errorf("-vk-api is %q; it must be a URL, as %s", c.VKAPI, vkAPI)
	}
	return nil
}
