package rules

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Window is a time in which a food may be bought. Zero times: from the opening on, until the close.
type Window struct{ From, Until time.Time }

// Food is what holds for a user and a food.
type Food struct {
	ID      int64    // 0: for all foods that have no lines of their own
	Limit   int      // pieces that the user may have, -1 for any number
	Windows []Window // when the user may buy it, in their order; empty for any time
	Listed  bool     // the user may buy it at some time
	Coupon  bool     // a coupon changes something
}

// View is what holds for a user.
type View struct {
	Household string // "" for none
	Foods     []Food // those with lines of their own, by id, and first all others
}

// View returns what holds for a user without a coupon.
func (r *Rules) View(user uint32) View {
	set := r.Set()
	p := set.person(user)
	v := View{Foods: []Food{set.food(all, p.groups)}}
	if p.household >= 0 {
		v.Household = set.households[p.household]
	}
	for _, id := range set.foods {
		v.Foods = append(v.Foods, set.food(id, p.groups))
	}
	return v
}

// Food returns what holds for a user with a coupon, or without one, and a food.
func (r *Rules) Food(user uint32, coupon []byte, food int64) Food {
	set := r.Set()
	groups := set.person(user).groups
	if code, ok := normal(nil, coupon); ok {
		if place, known := set.codes.find(code); known {
			groups |= 1 << place
		}
	}
	found := set.food(food, groups)
	found.ID = food
	return found
}

// food applies the lines of a food, or else those of all foods, to a set of groups.
func (s *Set) food(id int64, groups uint32) Food {
	f := Food{ID: id, Limit: -1, Listed: true}
	in := func(group int) bool { return group == everyone || groups&(1<<group) != 0 }
	others := func(group int) bool { return !in(group) && s.groups[group].coupons > 0 }
	limits := ofFood(s.limits, id, func(l limit) int64 { return l.food })
	own := false // limits of the user's groups count more than those of everyone
	for _, l := range limits {
		f.Coupon = f.Coupon || others(l.group)
		switch {
		case !in(l.group):
		case l.group == everyone:
			if !own {
				f.Limit = l.pieces
			}
		case own:
			f.Limit = max(f.Limit, l.pieces)
		default:
			f.Limit, own = l.pieces, true
		}
	}
	windows := ofFood(s.windows, id, func(w window) int64 { return w.food })
	for _, w := range windows {
		f.Coupon = f.Coupon || others(w.group)
		if in(w.group) {
			f.Windows = append(f.Windows, w.Window)
		}
	}
	f.Listed = len(windows) == 0 || len(f.Windows) > 0
	f.Windows = union(f.Windows)
	return f
}

// ofFood are the lines of a food, or those of all foods if it has none.
func ofFood[T any](lines []T, id int64, food func(T) int64) (list []T) {
	for _, want := range []int64{id, all} {
		for _, line := range lines {
			if food(line) == want {
				list = append(list, line)
			}
		}
		if len(list) > 0 {
			return list
		}
	}
	return nil
}

// union joins windows that overlap or touch. It is empty for all times.
func union(list []Window) (joined []Window) {
	slices.SortFunc(list, func(a, b Window) int { return cmp.Compare(ms(a.From), ms(b.From)) })
	for _, w := range list {
		if n := len(joined); n > 0 && (joined[n-1].Until.IsZero() || !w.From.After(joined[n-1].Until)) {
			if last := &joined[n-1].Until; !last.IsZero() && (w.Until.IsZero() || w.Until.After(*last)) {
				*last = w.Until
			}
			continue
		}
		joined = append(joined, w)
	}
	if len(joined) == 1 && joined[0] == (Window{}) {
		return nil
	}
	return joined
}

// ms is a time in Unix ms, 0 for the zero time.
func ms(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// termsOf are the terms of a set of groups, for redisx.Terms.
func (s *Set) termsOf(groups uint32) string {
	var text strings.Builder
	everything := s.food(all, groups)
	general := everything.terms()
	for _, id := range s.foods {
		f := s.food(id, groups)
		if terms := f.terms(); terms != general {
			fmt.Fprintf(&text, ";%d:%s", id, terms)
		}
	}
	if general != ":" {
		text.WriteString(";*:" + general)
	}
	return text.String()
}

// terms is "most:times" of order_rules.lua.
func (f *Food) terms() string {
	most := ""
	if f.Limit >= 0 {
		most = strconv.Itoa(f.Limit)
	}
	if !f.Listed {
		if f.Coupon {
			return most + ":?"
		}
		return most + ":!"
	}
	var times []string
	for _, w := range f.Windows {
		times = append(times, stamp(w.From)+"-"+stamp(w.Until))
	}
	return most + ":" + strings.Join(times, ",")
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return strconv.FormatInt(t.UnixMilli(), 10)
}
