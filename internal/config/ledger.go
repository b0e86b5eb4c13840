package config

type ledgerFlags struct {
	Ledger string // data source name, with a password; "" for no ledger
}

func (c *ledgerFlags) add(f *Flags) {
	f.Group("Ledger")
	f.Secret(&c.Ledger, "ledger", "", "MySQL or MariaDB that gets every order, and with -chat "+
		"the messages that Redis does not keep, `dsn` as in "+
		"user:password@tcp(host:3306)/name; better set in the environment")
}
