package config

type eventsFlags struct {
	Webhooks        string // file of the receivers, "" for none
	WebhooksPrivate bool   // they may have addresses that are not public
}

func (c *eventsFlags) add(f *Flags) {
	f.Group("Events (of orders and of the sale, for other programs)")
	f.Text(&c.Webhooks, "webhooks", "", "`file` of the receivers of events, CSV with the header "+
		"name,url,secrets,events; SIGHUP reads it again")
	f.Switch(&c.WebhooksPrivate, "webhooks-private", "receivers may have addresses that are not public, as "+
		"10.0.0.7 or 127.0.0.1")
	f.needs([]string{"webhooks"}, "webhooks-private")
}
