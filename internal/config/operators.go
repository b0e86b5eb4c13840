package config

import "net/netip"

type operatorFlags struct {
	Operators string // file or data source name, with a password; "" for none
	AdminFrom []netip.Prefix
	RootOff   bool // root is a user like others

	adminFrom, root string
}

func (c *operatorFlags) add(f *Flags) {
	f.Group("Operators (people who run the sale, beside root)")
	f.operators(&c.Operators)
	f.Text(&c.adminFrom, "admin-from", "", "`addresses` and networks of the administrators, as "+
		"10.0.0.7,fd00::/8: operators and root run the sale from there only, and failed logins from elsewhere do "+
		"not slow down a login from there")
	f.Check(func() (err error) {
		c.AdminFrom, err = parseNetworks("-admin-from", c.adminFrom)
		return err
	})
	f.Choice(&c.root, "root-access", []string{"on", "off"}, "`on or off`: root, user 1, may do all that "+
		"operators may; off: root is a user like others")
	f.Check(func() error {
		c.RootOff = c.root == "off"
		return nil
	})
}

// operators adds the flag of the list of operators, the same for the server and for flashsale operator.
func (f *Flags) operators(p *string) {
	f.Secret(p, "operators", "", "`file or dsn` of their list: CSV, which flashsale operator writes, or "+
		"a MySQL or MariaDB with the table operators, as user:password@tcp(host:3306)/name; SIGHUP reads it again")
}
