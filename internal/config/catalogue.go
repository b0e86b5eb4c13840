package config

import (
	"errors"
	"flag"
	"slices"

	"flashsale/internal/catalog"
)

type catalogFlags struct {
	Catalog      catalog.Config
	CatalogNamed bool   // a flag or its variable chooses the catalogue
	Images       string // folder with the pictures of foods, "" for none
	ForceReload  bool   // SIGHUP also takes a source that was most likely cut off
}

func (c *catalogFlags) add(f *Flags) {
	f.Group("Catalogue (built in, unless -catalog-dir or -db-host is set)")
	f.Catalog(&c.Catalog)
	f.Text(&c.Images, "images", "", "`folder` with the JPEG, PNG, WebP and GIF files that foods name in their "+
		"column image")
	f.Switch(&c.ForceReload, "force-reload", "SIGHUP and the next sale also take a list of users that lost "+
		"more than a tenth, or in which an id has got another name, or a CSV file that ends within a line")
	f.Check(func() error {
		names := []string{"users", "foods", "stock", "catalog-dir", "db-host"}
		c.CatalogNamed = slices.ContainsFunc(names, f.isSet)
		if c.Catalog.Dir != "" && c.Catalog.DB.Host != "" {
			return errors.New("-catalog-dir and -db-host are both set; choose one")
		}
		if c.Images != "" && c.Catalog.BuiltIn() {
			return errors.New("-images (IMAGES) is set without -catalog-dir or -db-host; the built-in foods have " +
				"pictures of their own")
		}
		return nil
	})
	f.needs([]string{"db-host"}, "db-port", "db-name", "db-user", "db-pass")
}

// Catalog adds the flags of the catalogue, the same for the server and for the tools in scripts.
func (f *Flags) Catalog(c *catalog.Config) {
	f.Number(&c.Users, "users", 10_000, 1, 10_000_000, "`number` of users in the built-in catalogue")
	f.Number(&c.Foods, "foods", 100, 1, 100_000, "`number` of foods in the built-in catalogue")
	f.Number(&c.Stock, "stock", 1000, 0, 1_000_000_000, "`pieces` of each food in the built-in catalogue")
	f.Secret(&c.RootPassword, "root-password", "", "`password` of user 1, root; better set in the environment "+
		"(default: a random one at each start; with CSV and MySQL the one there)")
	f.Text(&c.Dir, "catalog-dir", "", "`folder` with users.csv (id,name,password) and foods.csv "+
		"(id,stock,price, and if you like name, description, unit, image, currency)")
	f.Text(&c.DB.Host, "db-host", "", "`host` of a MySQL or MariaDB with the tables user and food")
	f.Number(&c.DB.Port, "db-port", 3306, 1, 65535, "its `port`")
	f.Text(&c.DB.Name, "db-name", "eleme", "`name` of the database")
	f.Text(&c.DB.User, "db-user", "root", "`name` to log in with")
	f.Secret(&c.DB.Password, "db-pass", "toor", "its `password`; better set in the environment")
}

// AddCatalog adds the flags of the catalogue to a set of package flag, without their environment names
// and ranges.
func AddCatalog(fs *flag.FlagSet, c *catalog.Config) {
	(&Flags{set: fs, ranges: map[string]string{}}).Catalog(c)
}
