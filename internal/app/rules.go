package app

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"strconv"

	"flashsale/handlers"
	"flashsale/internal/catalog"
	"flashsale/internal/config"
	"flashsale/internal/rooms/rules"
	"flashsale/redisx"
)

const rulesName = "rules"

var rulesRoom = room{
	name:   rulesName,
	read:   readRules,
	again:  func(cfg *config.Config) bool { return cfg.Rules != "" },
	fits:   (*opening).fitsRules,
	readAs: "rules",
	keep:   (*supervisor).keepRules,
	serve:  (*worker).serveRules,
}

// readRules reads the files of the rules, nil without rules.
func readRules(cfg *config.Config) (any, error) {
	if cfg.Rules == "" {
		return nil, nil
	}
	return rules.Read(cfg.Rules)
}

// fitsRules refuses rules with any fault.
func (o *opening) fitsRules(read any) error {
	if read == nil {
		return nil
	}
	set, err := rules.Parse(read.(*rules.Source), rules.Context{
		Foods: len(o.catalog.Foods()), User: userFinder(o.catalog), Slices: o.Redis.SliceCount()})
	if err != nil {
		return err
	}
	slog.Info("the rules of a purchase are read", "version", set.Version, "limits_and_windows", set.Lines(),
		"groups", len(set.Groups()), "users", set.Users(), "households", set.Households(),
		"coupons", set.Coupons())
	return nil
}

// keepRules warns of rules that do not fit the users and foods of the next sale. They hold all the same.
func (s *supervisor) keepRules(context.Context) (part, error) {
	return part{followed: func(next *opening) {
		if err := next.fitsRules(next.rooms[rulesName]); err != nil {
			slog.Warn("the rules of a purchase do not fit the next sale; correct the file and send SIGHUP",
				"error", err)
		}
	}}, nil
}

// userFinder finds users of a catalogue, and any id of a registered user. It refuses a name that is the id
// of another user.
func userFinder(c *catalog.Catalog) func(text string) (id uint32, err error) {
	names := c.Names()
	return func(text string) (uint32, error) {
		named, isName := c.UserOf([]byte(text))
		number, err := strconv.ParseUint(text, 10, 32)
		id := uint32(number)
		isID := err == nil && (id >= redisx.FirstRegistered || names.Name(id) != nil)
		switch {
		case isName && isID && named != id:
			return 0, fmt.Errorf("%.80q is the name of user %d and the id of user %d; write the id of the one or "+
				"the name of the other", text, named, id)
		case isName:
			return named, nil
		case isID:
			return id, nil
		}
		return 0, fmt.Errorf("there is no user %.80q", text)
	}
}

// serveRules serves the rules that the supervisor has checked. The catalogue may have changed since: users
// and foods that are not there any longer cannot buy or be bought.
func (w *worker) serveRules() (part, error) {
	if w.cfg.Rules == "" {
		return part{}, nil
	}
	packed, err := w.takeLong(rulesName)
	if err != nil {
		return part{}, err
	}
	source, err := rules.Unpack(packed)
	if err != nil {
		return part{}, err
	}
	set, err := w.parseRules(source)
	if err != nil {
		return part{}, err
	}
	room := rules.New(set)
	return part{routes: handlers.Rules(room), retired: func() { go w.followPurchaseRules(room) }}, nil
}

// parseRules reads rules that were checked before.
func (w *worker) parseRules(source *rules.Source) (*rules.Set, error) {
	return rules.Parse(source, rules.Context{Foods: math.MaxInt32, Slices: 1,
		User: func(text string) (uint32, error) {
			if named, isName := w.catalog.UserOf([]byte(text)); isName {
				return named, nil
			}
			id, err := strconv.ParseUint(text, 10, 32)
			if err != nil {
				return 0, nil
			}
			return uint32(id), nil
		}})
}

// followPurchaseRules reads the rules again in a worker that was replaced: it answers the last requests of
// its connections by the rules of the new worker. After an error both keep the old rules.
func (w *worker) followPurchaseRules(room *rules.Rules) {
	source, err := rules.Read(w.cfg.Rules)
	if err != nil {
		return
	}
	if set, err := w.parseRules(source); err == nil {
		room.Use(set)
	}
}
