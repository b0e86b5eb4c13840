package app

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"time"

	"flashsale/internal/catalog"
	"flashsale/internal/config"
	"flashsale/internal/serve/listener"
	"flashsale/internal/store/datafolder"
	"flashsale/redisx"
	"flashsale/redisx/turnover"
	"flashsale/tokens"
)

// opening is an open sale, with all that a worker needs to serve it.
type opening struct {
	handover
	catalog *catalog.Catalog
	figures *os.File // memory that the workers count in

	source     catalog.Config // of the catalogue, with root's password
	randomRoot bool           // root's password was made at this start
	fresh      bool           // no server had opened the sale before
	times      redisx.Times   // of the sale
	alone      bool           // no other server can take part in it
	rooms      map[string]any // the results of room.read, by room name
}

// copy returns an opening that may be changed: other goroutines read the original.
func (o *opening) copy() *opening {
	next := *o
	next.rooms = maps.Clone(o.rooms)
	return &next
}

// openSale reads the catalogue and the secrets and opens the sale, or joins the open sale. rooms is the
// result of readRooms.
func openSale(
	ctx context.Context, cfg *config.Config, folder *datafolder.Folder, store *store, rooms map[string]any,
) (o *opening, err error) {
	o = &opening{handover: handover{Redis: store.redis, ServiceToken: cfg.ServiceToken},
		source: cfg.Catalog, alone: store.private, rooms: rooms}
	if o.source.RootPassword == "" && o.source.BuiltIn() {
		o.source.RootPassword, o.randomRoot = rand.Text(), true
		if err := folder.WriteRootPassword(o.source.RootPassword); err != nil {
			return nil, err
		}
	}
	if o.catalog, err = catalog.Load(ctx, o.source); err != nil {
		return nil, err
	}
	o.warnOfCutOff()
	if err := makeImages(ctx, cfg, folder, o.catalog); err != nil {
		return nil, err
	}
	if err := checkPrices(cfg, o.catalog); err != nil {
		return nil, err
	}
	if err := o.fits(); err != nil {
		return nil, err
	}
	if o.Certificate, err = listener.ReadCertificate(cfg.TLSCert, cfg.TLSKey); err != nil {
		return nil, err
	}
	if o.Secrets, err = secrets(cfg, folder); err != nil {
		return nil, err
	}
	if err := o.join(ctx, cfg, folder, store); err != nil {
		return nil, err
	}
	if store.durable {
		err = folder.WriteSale(o.Sale, store.redis.Address)
	}
	return o, err
}

// warnOfCutOff logs that the source of the catalogue may be incomplete.
func (o *opening) warnOfCutOff() {
	if err := o.catalog.CutOff(); err != nil {
		slog.Warn(err.Error())
	}
}

// secrets returns the current secret, which signs, then the older secrets, which are still accepted.
func secrets(cfg *config.Config, folder *datafolder.Folder) (list [][]byte, err error) {
	secret := []byte(cfg.TokenSecret)
	if len(secret) == 0 {
		if secret, err = folder.TokenSecret(); err != nil {
			return nil, err
		}
	}
	list = [][]byte{secret}
	if cfg.TokenSecretPrevious != "" {
		list = append(list, []byte(cfg.TokenSecretPrevious))
	}
	return list, nil
}

// join joins the sale in Redis or opens one: the sale of -sale, else the sale that the folder remembers,
// else any.
func (o *opening) join(
	ctx context.Context, cfg *config.Config, folder *datafolder.Folder, store *store,
) error {
	served, err := folder.Served()
	if err != nil {
		return err
	}
	wanted, named := firstStock(o.catalog), cfg.Sale
	wanted.Alone, wanted.Times = o.alone, cfg.Times
	if wanted.Server, err = o.fingerprints(); err != nil {
		return err
	}
	switch {
	case named != "":
		wanted.Only = named
	case served.Redis == o.Redis.Address:
		wanted.Last = served.Sale
	default: // the same sale may have moved to another Redis
		wanted.Only = served.Sale
	}
	opened, err := turnover.Open(ctx, o.Redis, wanted)
	moved := errors.Is(err, redisx.ErrNoSale) || errors.Is(err, redisx.ErrOtherSale)
	switch {
	case moved && named != "":
		return fmt.Errorf("-sale (SALE) is %s: %w; name the sale that is there, or the Redis that holds this one "+
			"(REDIS_HOST), or leave -sale out to join or open any", named, err)
	case moved:
		return fmt.Errorf("%w; %w", err, otherRedis(folder, served))
	case err != nil:
		return refusedSale(err, store)
	}
	o.joined(opened)
	warnOfTimes(cfg.Times, opened.Times)
	warnOf(opened.Differs, o.alone)
	return nil
}

// joined notes the sale that was opened or joined.
func (o *opening) joined(opened redisx.Opened) {
	o.Sale, o.fresh, o.times = opened.Sale, opened.Fresh, opened.Times
}

// warnOfTimes logs that the flags name other times than the sale has.
func warnOfTimes(named, times redisx.Times) {
	for _, one := range []struct {
		name         string
		named, holds time.Time
	}{
		{"-opens-at (OPENS_AT)", named.OpensAt, times.OpensAt},
		{"-closes-at (CLOSES_AT)", named.ClosesAt, times.ClosesAt},
	} {
		if !one.named.IsZero() && !one.named.Equal(one.holds) {
			slog.Warn("the sale has another time than the flag: the time of the sale counts",
				"flag", one.name, "value", momentText(one.named), "sale", momentText(one.holds))
		}
	}
}

// momentText is a moment for people, "none" for the zero time.
func momentText(t time.Time) string {
	if t.IsZero() {
		return "none"
	}
	return t.UTC().Format(time.RFC3339Nano)
}

// refusedSale adds what to do to the reason why a sale is not opened.
func refusedSale(err error, store *store) error {
	switch {
	case errors.Is(err, redisx.ErrOtherFoods):
		return fmt.Errorf("%w; name the catalogue of that sale (-catalog-dir, -db-host, or -foods and -stock), "+
			"or open the next one (flashsale sale new)", err)
	case errors.Is(err, redisx.ErrOtherHold):
		return fmt.Errorf("%w; start this server with the time of the sale, or for another time %s", err,
			store.newSale)
	case errors.Is(err, redisx.ErrClosesInPast):
		return fmt.Errorf("%w; set -closes-at (CLOSES_AT) to a time to come, or leave it out", err)
	case errors.Is(err, redisx.ErrSaleLost):
		return fmt.Errorf("%w; restore its data, or for a new sale %s", err, store.newSale)
	case errors.Is(err, redisx.ErrLeftover):
		return fmt.Errorf("%w, and a new sale would list its orders as its own; restore what is missing, "+
			"or for a new sale %s", err, store.newSale)
	case errors.Is(err, redisx.ErrMarkerLost):
		return fmt.Errorf("%w, or for a new sale %s", err, store.newSale)
	case errors.Is(err, redisx.ErrOtherSecrets):
		return fmt.Errorf("%w, so this one would refuse what it signs; set TOKEN_SECRET to that of the "+
			"others, or TOKEN_SECRET_PREVIOUS on the way to a new one (if theirs is lost, stop all servers and run "+
			"HDEL sale server in Redis: everyone has to log in again)", err)
	}
	return err
}

// fingerprints returns the fingerprints of everything that the servers of the sale must agree on.
func (o *opening) fingerprints() (list []redisx.Fingerprint, err error) {
	for _, secret := range o.Secrets {
		name, key, err := tokens.Fingerprint(secret)
		if err != nil {
			return nil, err
		}
		root, users := o.catalog.UserFingerprints(key)
		list = append(list, redisx.Fingerprint{Secret: name, Root: root, Users: users})
	}
	return list, nil
}

// foodsFormat begins the fingerprint of a catalogue.
const foodsFormat = "%d foods"

// firstStock is the sale as the catalogue would open it.
func firstStock(c *catalog.Catalog) redisx.Opening {
	o := redisx.Opening{}
	for _, food := range c.Foods() {
		o.Stock = append(o.Stock, food.Stock)
	}
	o.Catalog = fmt.Sprintf(foodsFormat+", %d pieces (%s)", len(o.Stock), piecesOf(c), c.Fingerprint())
	return o
}

// differences are the warnings for a server that differs from the server that joined the sale last, which
// may no longer run.
var differences = []struct {
	found func(redisx.Differences) bool
	text  string
}{
	{func(d redisx.Differences) bool { return d.TheyRefuse },
		"the server that joined last does not know the token secret that signs here: it refuses logins and " +
			"carts of this server, until it is restarted with that secret as TOKEN_SECRET_PREVIOUS"},
	{func(d redisx.Differences) bool { return d.WeRefuse },
		"this server does not know the token secret that signs on the server that joined last: it refuses " +
			"logins and carts of that one; set TOKEN_SECRET_PREVIOUS to that secret"},
	{func(d redisx.Differences) bool { return d.Root },
		"root has another password than on the server that joined last: root can log in only where it is " +
			"the right one; set ROOT_PASSWORD to the same on all"},
	{func(d redisx.Differences) bool { return d.Users },
		"the users are other ones than on the server that joined last: a user who is missing on a server, or " +
			"has another password there, cannot log in there; give all servers the same users " +
			"(SIGHUP reads them again)"},
}

// warnOf logs the differences.
func warnOf(d redisx.Differences, alone bool) {
	if alone { // no other server can take part: the change is on purpose
		if d.WeRefuse {
			slog.Warn("the token secret is not the same as before: " +
				"everyone has to log in again and to fill a new cart")
		}
		return
	}
	for _, difference := range differences {
		if difference.found(d) {
			slog.Warn(difference.text)
		}
	}
}
