package sale

import (
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"flag"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"flashsale/internal/catalog"
	"flashsale/internal/config"
)

const (
	// passwordFile is where the server leaves the password it made for root, in its data folder.
	passwordFile = "root-password"

	serversMax = 64 // of one sale
)

// Access is the way to a running sale.
type Access struct {
	Servers  []string    // host:port
	TLS      *tls.Config // nil = plain HTTP
	Catalog  catalog.Config
	RootFrom string // where root's password comes from, for messages

	// Flags that Resolve takes apart.
	addr, data, caFile string
	encrypt            bool
}

// Register adds the flags of a running sale.
func (a *Access) Register(fs *flag.FlagSet) {
	fs.StringVar(&a.addr, "addr", "127.0.0.1:8080", "servers of the sale, `host:port[,host:port...]`")
	fs.StringVar(&a.data, "data", "flashsale-data",
		"data `folder` of the server, where it leaves a root password it made itself")
	a.registerTLS(fs)
	config.AddCatalog(fs, &a.Catalog)
}

func (a *Access) registerTLS(fs *flag.FlagSet) {
	fs.BoolVar(&a.encrypt, "tls", false, "speak TLS; the certificate is not verified")
	fs.StringVar(&a.caFile, "tls-ca", "", "speak TLS and verify with the certificates in this PEM `file`")
}

// Resolve reads the list of servers, the certificates and root's password. Its errors are an ErrUsage.
func (a *Access) Resolve() (err error) {
	if a.Servers, err = splitServers(a.addr); err != nil {
		return err
	}
	if a.encrypt || a.caFile != "" {
		if a.TLS, err = tlsConfig(a.caFile); err != nil {
			return err
		}
	}
	return a.findRootPassword()
}

// findRootPassword fills in root's password for the built-in catalogue; the other sources hold it
// themselves.
func (a *Access) findRootPassword() error {
	switch {
	case a.Catalog.RootPassword != "":
		a.RootFrom = "ROOT_PASSWORD or -root-password"
		return nil
	case a.Catalog.Dir != "" || a.Catalog.DB.Host != "":
		a.RootFrom = "the catalogue"
		return nil
	}
	a.RootFrom = filepath.Join(a.data, passwordFile)
	text, err := os.ReadFile(a.RootFrom)
	if err != nil {
		return fmt.Errorf("%w: cannot read root's password: %w; set ROOT_PASSWORD as for the server, or "+
			"-data to its folder",
			ErrUsage, err)
	}
	a.Catalog.RootPassword = strings.TrimSpace(string(text))
	return nil
}

// RegisterBuiltIn adds the flags of the built-in catalogue, for servers that bench starts itself.
func RegisterBuiltIn(fs *flag.FlagSet, c *catalog.Config) {
	var all flag.FlagSet
	config.AddCatalog(&all, c)
	for _, name := range []string{"users", "foods", "stock", "root-password"} {
		f := all.Lookup(name)
		fs.Var(f.Value, f.Name, f.Usage)
	}
}

// BuiltIn makes that catalogue large enough for this number of orders: each has a user, no food sells out,
// and root has a password.
func BuiltIn(c catalog.Config, orders int) catalog.Config {
	c.Users = max(c.Users, orders+1) // and root
	// Two pieces an order, spread evenly: more than twice the mean is far above the demand for any food.
	c.Stock = max(c.Stock, 4*orders/max(c.Foods, 1)+200)
	if c.RootPassword == "" {
		c.RootPassword = rand.Text()
	}
	return c
}

// splitServers takes the list of -addr apart.
func splitServers(text string) ([]string, error) {
	servers := strings.Split(text, ",")
	if len(servers) > serversMax {
		return nil, fmt.Errorf("%w: -addr names %d servers, at most %d", ErrUsage, len(servers), serversMax)
	}
	for _, server := range servers {
		host, port, err := net.SplitHostPort(server)
		number, numberErr := strconv.ParseUint(port, 10, 16)
		if err != nil || host == "" || numberErr != nil || number == 0 {
			return nil, fmt.Errorf("%w: -addr %q is not host:port", ErrUsage, server)
		}
	}
	return servers, nil
}

// tlsConfig encrypts connections: it accepts any certificate, unless a file has the certificates to verify
// with.
func tlsConfig(caFile string) (*tls.Config, error) {
	if caFile == "" {
		return &tls.Config{InsecureSkipVerify: true}, nil
	}
	text, err := os.ReadFile(caFile)
	if err != nil {
		return nil, fmt.Errorf("%w: cannot read -tls-ca: %w", ErrUsage, err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%w: -tls-ca %s has no certificate in PEM", ErrUsage, caFile)
	}
	return &tls.Config{RootCAs: pool}, nil
}
