package handlers

import (
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"flashsale/internal/credentials"
	"flashsale/internal/rooms/operators"
	"flashsale/internal/testkit"
	"flashsale/redisx/redistest"
)

const (
	notForOperators = `{"code":"NOT_FOR_OPERATORS","message":"操作员不能执行用户的操作"}`
	otherPlace      = `{"code":"ADDRESS_NOT_ALLOWED","message":"不能从此地址执行此操作"}`
)

// staff are operators of each role. Their passwords are "password of <name>".
var staff = []operators.Operator{newOperator(1, "vera", operators.Viewer),
	newOperator(2, "olaf", operators.Operates), newOperator(3, "adam", operators.Admin)}

func newOperator(number uint32, name string, role operators.Role) operators.Operator {
	hash, _ := credentials.NewQueue(testkit.FastHash).Make([]byte("password of " + name)) // nothing else waits
	return operators.Operator{Number: number, Name: name, Role: role, Password: hash}
}

// tokenNamed is a token of one of staff.
func (s *shop) tokenNamed(name string) string {
	x := operators.ByName(staff, name)
	return string(s.keys.AppendOperator(nil, x.Holder(), 1, time.Now().Add(time.Hour)))
}

// callers are all kinds of them: nobody, a user, root, a program, and staff.
var callers = []string{"nobody", "user", "root", "service", "vera", "olaf", "adam"}

// try asks an access about a caller, at an address. It returns "yes", or the status of the refusal and its
// body.
func (s *shop) try(may access, name, from string) (outcome, body string, user uint32, actor string) {
	var request fasthttp.Request
	header := &request.Header
	switch name {
	case "nobody":
	case "user":
		header.Set("Access-Token", s.token(2))
	case "root":
		header.Set("Access-Token", s.token(rootUser))
	case "service":
		header.Set("Authorization", "Bearer "+serviceToken)
	default:
		header.Set("Access-Token", s.tokenNamed(name))
	}
	var ctx fasthttp.RequestCtx
	ctx.Init(&request, net.TCPAddrFromAddrPort(netip.MustParseAddrPort(from)), nil)
	user, ok := may(&ctx)
	if ok {
		return "yes", "", user, actorOf(&ctx)
	}
	return strconv.Itoa(ctx.Response.StatusCode()), string(ctx.Response.Body()), 0, ""
}

const office, elsewhere = "192.0.2.7:1", "203.0.113.9:1"

// Each kind of access lets in those whom it names. Without a valid token it is 401, else 403; the contract
// wants 401 from the list of all orders for users. With -admin-from operators and root act from there only,
// and without root's privileges root is a user.
func TestAccess(t *testing.T) {
	s := open(t, "unix", redistest.Start(t).Socket)
	s.join(Operators(operators.New(operators.Config{List: staff, Hash: testkit.FastHash})))
	views, operates := s.anyOrService(operators.Viewer), s.anyOrService(operators.Operates)
	tests := []struct {
		name   string
		access access
		// for each of callers: everywhere or at the office, elsewhere with -admin-from, and with -root-access off
		want, elsewhere, rootOff string
	}{
		{"anybody", s.anybody, "yes yes yes yes yes yes yes", "", ""},
		{"user", s.user, "401 yes yes 401 403 403 403", "", ""},
		{"user or service", s.userOrService, "401 yes yes yes 403 403 403", "", ""},
		{"views", s.views, "401 403 yes 401 yes yes yes", "401 403 403 401 403 403 403",
			"401 403 403 401 yes yes yes"},
		{"operates", s.operates, "401 403 yes 401 403 yes yes", "401 403 403 401 403 403 403",
			"401 403 403 401 403 yes yes"},
		{"administers", s.administers, "401 403 yes 401 403 403 yes", "401 403 403 401 403 403 403",
			"401 403 403 401 403 403 yes"},
		{"views or service", s.viewsOrService, "401 403 yes yes yes yes yes", "401 403 403 yes 403 403 403",
			"401 403 403 yes yes yes yes"},
		{"operates or service", s.operatesOrService, "401 403 yes yes 403 yes yes",
			"401 403 403 yes 403 403 403", "401 403 403 yes 403 yes yes"},
		{"lists orders", s.listsOrders, "401 401 yes yes yes yes yes", "401 401 403 yes 403 403 403",
			"401 401 401 yes yes yes yes"},
		{"any, viewers", views, "401 yes yes yes yes yes yes", "401 yes yes yes 403 403 403",
			"401 yes yes yes yes yes yes"},
		{"any, operators", operates, "401 yes yes yes 403 yes yes", "401 yes yes yes 403 403 403",
			"401 yes yes yes 403 yes yes"},
	}
	for _, at := range []struct {
		name, from string
		office     []netip.Prefix
		rootOff    bool
	}{
		{"everywhere", elsewhere, nil, false}, {"at the office", office, networks("192.0.2.0/24"), false},
		{"elsewhere", elsewhere, networks("192.0.2.0/24"), false}, {"root off", elsewhere, nil, true},
	} {
		s.do(func() { s.cfg.AdminFrom, s.cfg.RootOff = at.office, at.rootOff })
		for _, test := range tests {
			want := test.want
			if at.rootOff && test.rootOff != "" {
				want = test.rootOff
			} else if at.name == "elsewhere" && test.elsewhere != "" {
				want = test.elsewhere
			}
			var got []string
			for _, name := range callers {
				outcome, body, user, actor := s.try(test.access, name, at.from)
				got = append(got, outcome)
				switch outcome {
				case "yes":
					s.checkCaller(t, test.name+", "+at.name, name, user, actor)
				case "401":
					if body != invalidToken {
						t.Errorf("%s, %s, %s: refused with %s", test.name, at.name, name, body)
					}
				default:
					if !slices.Contains([]string{notAllowed, notForOperators, otherPlace}, body) ||
						(body == notForOperators) != strings.HasPrefix(test.name, "user") ||
						body == otherPlace && at.name != "elsewhere" {
						t.Errorf("%s, %s, %s: refused with %s", test.name, at.name, name, body)
					}
				}
			}
			if strings.Join(got, " ") != want {
				t.Errorf("%s, %s:\n got %v\nwant %s", test.name, at.name, got, want)
			}
		}
	}
}

// checkCaller compares what an access tells of a caller whom it lets in. Who acts as a user, or as anybody,
// acts under no name.
func (s *shop) checkCaller(t *testing.T, what, name string, user uint32, actor string) {
	t.Helper()
	wantUser := map[string]uint32{"user": 2, "root": rootUser}[name]
	if strings.HasPrefix(what, "anybody") {
		wantUser = 0
	}
	if user != wantUser || actor != "" && actor != name {
		t.Errorf("%s: %s is user %d and acts as %q", what, name, user, actor)
	}
	acts := name != "nobody" && name != "user" && name != "service"
	public := strings.HasPrefix(what, "anybody") || strings.HasPrefix(what, "user")
	asUser := name == "root" && (strings.HasSuffix(what, "elsewhere") || strings.HasSuffix(what, "root off"))
	if acts && !public && !asUser && actor == "" {
		t.Errorf("%s: %s acts under no name", what, name)
	}
}

func networks(list ...string) (networks []netip.Prefix) {
	for _, text := range list {
		networks = append(networks, netip.MustParsePrefix(text))
	}
	return networks
}

// roleOf is the least role for each call of operators. A call that root may make and users may not must
// stand here.
var roleOf = map[string]operators.Role{
	"PUT /admin/sale": operators.Operates, "POST /admin/foods/:id/stock": operators.Operates,
	"GET /admin/log": operators.Viewer, "GET /admin/orders": operators.Viewer,
	"GET /admin/sales": operators.Viewer, "GET /admin/orders/:id": operators.Viewer,
	"PATCH /admin/orders/:id": operators.Operates, "GET /admin/refunds": operators.Viewer,
	"POST /admin/refunds/:payment/done": operators.Operates,
	"GET /admin/sums":                   operators.Viewer,
	"GET /admin/rules":                  operators.Viewer,
	"GET /admin/sale/next":              operators.Viewer, "POST /admin/sale/next": operators.Admin,
	"GET /admin/users": operators.Admin, "PUT /admin/users/:user/password": operators.Admin,
	"DELETE /admin/users/:user": operators.Admin,
	"GET /events":               operators.Viewer, "GET /admin/webhooks": operators.Viewer,
	"GET /admin/webhooks/:name/dead":       operators.Viewer,
	"POST /admin/webhooks/:name/dead/:id":  operators.Operates,
	"POST /admin/webhooks/:name/on":        operators.Operates,
	"DELETE /limits/:event":                operators.Operates,
	"POST /traffic/hit":                    operators.Operates,
	"GET /traffic":                         operators.Viewer,
	"GET /traffic/keys":                    operators.Viewer,
	"GET /traffic/top":                     operators.Viewer,
	"DELETE /traffic":                      operators.Admin,
	"DELETE /rooms/sale/messages/:message": operators.Operates,
	"PUT /rooms/sale/pin":                  operators.Operates,
	"DELETE /rooms/sale/pin":               operators.Operates,
	"PUT /rooms/sale/muted/:user":          operators.Operates,
	"DELETE /rooms/sale/muted/:user":       operators.Operates,
}

// alsoUsers is the same for calls that users may make too, about themselves.
var alsoUsers = map[string]operators.Role{
	"POST /limits/check": operators.Operates, "GET /limits/:event": operators.Viewer,
	"POST /blocklist/check": operators.Viewer, "GET /blocklist": operators.Viewer,
	"POST /logout": operators.Viewer, "DELETE /users/me/tokens": operators.Viewer,
}

// Every call has those callers whom its role lets in, and no others.
func TestRolesOfRoutes(t *testing.T) {
	s, table := wholeTable(t)
	seen := 0
	for _, line := range table {
		call := line.Method + " " + line.Pattern
		outcomes := map[string]string{}
		for _, name := range callers {
			outcomes[name], _, _, _ = s.try(line.Access, name, elsewhere)
		}
		role, privileged := roleOf[call]
		also, both := alsoUsers[call]
		switch isOfOperators := outcomes["root"] == "yes" && outcomes["user"] != "yes"; {
		case isOfOperators != privileged:
			t.Errorf("%s: %v; roleOf has it: %t", call, outcomes, privileged)
			continue
		case both:
			role = also
		case !privileged: // of users or of anybody
			role = ""
		}
		if privileged || both {
			seen++
		}
		for _, x := range staff {
			want := "403"
			if outcomes["nobody"] == "yes" || role != "" && x.Role.Includes(role) {
				want = "yes"
			}
			if outcomes[x.Name] != want {
				t.Errorf("%s: %s, who is %s, gets %s, want %s", call, x.Name, x.Role, outcomes[x.Name], want)
			}
		}
	}
	if seen != len(roleOf)+len(alsoUsers) {
		t.Errorf("%d calls of operators, want %d", seen, len(roleOf)+len(alsoUsers))
	}
}
