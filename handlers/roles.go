package handlers

import (
	"log/slog"

	"github.com/valyala/fasthttp"

	"flashsale/internal/rooms/operators"
	"flashsale/internal/rooms/sessions"
	"flashsale/internal/serve/listener"
)

// Who may make the calls that run a sale: operators, by their role, and root, user 1, who may all of it
// unless -root-access is off.

// rootName is root in the log of the sale.
const rootName = "root"

// caller is who makes a call of operators.
type caller struct {
	session
	name string
	role operators.Role // "" for users
}

// callerOf returns who makes a call, without a name and a role for users, and without a user for nobody and
// for operators. It also reports whether the request has sent any token.
func (s *Server) callerOf(ctx *fasthttp.RequestCtx) (c caller, sent bool) {
	if x, login := s.operatorOf(ctx); x != nil {
		return caller{login, x.Name, x.Role}, true
	}
	c.session, sent = s.tokenOf(ctx)
	if c.user == rootUser && !s.cfg.RootOff {
		c.name, c.role = rootName, operators.Admin
	}
	return c, sent
}

// operatorOf returns the operator of a request's valid access token, nil without one, and the session, which
// has no user. The list of now decides, whatever it was when the token was minted.
func (s *Server) operatorOf(ctx *fasthttp.RequestCtx) (*operators.Operator, session) {
	if s.operators == nil {
		return nil, session{}
	}
	query, header := sentTokens(ctx)
	for _, token := range [][]byte{query, header} {
		holder, id, expires, ok := s.cfg.Keys.Operator(token, timeOf(ctx))
		login := session{holder: sessions.Operator(holder), id: id, expires: expires}
		if !ok || s.isEnded(login) {
			continue
		}
		if x := s.operators.Find(holder); x != nil {
			return x, login
		}
	}
	return nil, session{}
}

// isOver reports whether the session of a caller has ended, or the operator is no longer in the list.
func (s *Server) isOver(c caller) bool {
	return s.isEnded(c.session) || c.user == 0 && s.operators.Find(uint32(c.holder)) == nil
}

// views, operates and administers let callers pass who have this role or a greater one.
func (s *Server) views(ctx *fasthttp.RequestCtx) (user uint32, ok bool) {
	return s.admit(ctx, operators.Viewer, errNotAllowed)
}

func (s *Server) operates(ctx *fasthttp.RequestCtx) (user uint32, ok bool) {
	return s.admit(ctx, operators.Operates, errNotAllowed)
}

func (s *Server) administers(ctx *fasthttp.RequestCtx) (user uint32, ok bool) {
	return s.admit(ctx, operators.Admin, errNotAllowed)
}

// viewsOrService is views, or a program with the service token; operatesOrService likewise.
func (s *Server) viewsOrService(ctx *fasthttp.RequestCtx) (user uint32, ok bool) {
	return s.serviceOr(ctx, s.views)
}

func (s *Server) operatesOrService(ctx *fasthttp.RequestCtx) (user uint32, ok bool) {
	return s.serviceOr(ctx, s.operates)
}

// loggedIn lets users and operators pass, operators as user 0. passedSession has the session.
func (s *Server) loggedIn(ctx *fasthttp.RequestCtx) (user uint32, ok bool) {
	c, sent := s.callerOf(ctx)
	if c.session == (session{}) {
		s.refuseToken(ctx, sent)
		return 0, false
	}
	if c.user == 0 {
		ctx.SetUserValue(actorKey, c.name)
	}
	ctx.SetUserValue(sessionKey, c.session)
	return c.user, true
}

// listsOrders is viewsOrService for the list of all orders: the contract wants 401 for users.
func (s *Server) listsOrders(ctx *fasthttp.RequestCtx) (user uint32, ok bool) {
	return s.serviceOr(ctx, func(ctx *fasthttp.RequestCtx) (uint32, bool) {
		return s.admit(ctx, operators.Viewer, errInvalidToken)
	})
}

// anyOrService lets users pass, operators with this role and, as user 0 like them, programs with the service
// token. actorOf tells whether a user is root.
func (s *Server) anyOrService(role operators.Role) access {
	return func(ctx *fasthttp.RequestCtx) (user uint32, ok bool) {
		return s.serviceOr(ctx, func(ctx *fasthttp.RequestCtx) (uint32, bool) {
			if c, _ := s.callerOf(ctx); c.user == 0 && c.role != "" || c.role != "" && s.isAdminPlace(ctx) {
				return s.admit(ctx, role, errNotAllowed)
			}
			return s.user(ctx)
		})
	}
}

// admit lets callers with the role pass, and answers users with the failure f. Root passes as user 1,
// operators as user 0.
func (s *Server) admit(ctx *fasthttp.RequestCtx, role operators.Role, f *failure) (user uint32, ok bool) {
	c, sent := s.callerOf(ctx)
	switch {
	case c.role == "" && c.user == 0:
		s.refuseToken(ctx, sent)
	case c.role == "":
		reply(ctx, f)
	case !c.role.Includes(role):
		reply(ctx, errNotAllowed)
	case !s.isAdminPlace(ctx):
		reply(ctx, errOtherPlace)
	default:
		ctx.SetUserValue(actorKey, c.name)
		return c.user, true
	}
	return 0, false
}

// isAdminPlace reports whether a request comes from where operators may call.
func (s *Server) isAdminPlace(ctx *fasthttp.RequestCtx) bool {
	return len(s.cfg.AdminFrom) == 0 || listener.Within(s.clientAddress(ctx), s.cfg.AdminFrom)
}

// actorKey is where a request keeps the name of its operator.
const actorKey = "actor"

// actorOf returns the name of the operator who makes a call, "" for users and programs.
func actorOf(ctx *fasthttp.RequestCtx) string {
	name, _ := ctx.UserValue(actorKey).(string)
	return name
}

// logAct logs what an operator has called, unless it only reads.
func (s *Server) logAct(ctx *fasthttp.RequestCtx, path []byte) {
	name := actorOf(ctx)
	if name == "" || ctx.IsGet() || ctx.IsHead() {
		return
	}
	slog.Info("an operator has made a call", "operator", name, "method", methodOf(ctx),
		"path", cut(string(path)), "status", ctx.Response.StatusCode(), "from", s.clientAddress(ctx),
		s.identity(ctx))
}
