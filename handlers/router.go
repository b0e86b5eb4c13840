package handlers

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/valyala/fasthttp"
)

// counted is a route with its indexes in the metrics (nameFigures) and in the statistics (countTraffic).
type counted struct {
	Route
	figure, hits int
}

// Call is what the router knows of a request.
type Call struct {
	user   uint32 // the caller; 0 for other programs and for calls that are open to anybody
	path   []byte // decoded
	parts  []string
	answer *answer
}

// param returns the part of the path that the pattern names, decoded except for slashes and control
// characters.
func (c Call) param(name string) string { return string(c.rawParam(name)) }

// rawParam is param without a copy: the bytes are those of the request.
func (c Call) rawParam(name string) []byte {
	rest := c.path
	for _, part := range c.parts {
		var value []byte
		value, rest = cutPart(rest)
		if isParam(part) && part[1:] == name {
			return value
		}
	}
	panic("no parameter " + name + " in the route's pattern")
}

// cutPart returns the first part of a path that begins with a slash, and what follows it.
func cutPart(path []byte) (part, rest []byte) {
	path = path[1:]
	if end := bytes.IndexByte(path, '/'); end >= 0 {
		return path[:end], path[end:]
	}
	return path, nil
}

// isParam reports whether a part of a pattern is a parameter.
func isParam(part string) bool { return part != "" && part[0] == ':' }

// resource is a pattern with all its methods.
type resource struct {
	pattern string
	parts   []string
	routes  []counted
	allow   string // value of the header Allow
}

// router finds the route of a request. It does not allocate.
type router struct {
	resources []*resource          // in the order of the table
	fixed     map[string]*resource // those without parameters
	open      []*resource          // those with parameters
	allow     string               // of the server as a whole
}

// newRouter makes a router of a table. It panics on a route that is never reached or allows too long bodies.
func newRouter(table []Route) *router {
	r := &router{fixed: map[string]*resource{}}
	var methods []string
	for _, line := range table {
		r.add(line)
		methods = append(methods, line.Method)
	}
	for _, resource := range r.resources {
		var own []string
		for _, line := range resource.routes {
			own = append(own, line.Method)
		}
		resource.allow = allowed(own)
	}
	r.allow = allowed(methods)
	return r
}

func (r *router) add(line Route) {
	known := r.find([]byte(line.Pattern))
	switch {
	case known == nil:
		known = r.addResource(line.Pattern)
	case known.pattern != line.Pattern:
		panic(fmt.Sprintf("route %s %s is never reached", line.Method, line.Pattern))
	case known.route([]byte(line.Method)) != nil:
		panic(fmt.Sprintf("route %s %s is there twice", line.Method, line.Pattern))
	}
	if line.Work.body > vkBodyBytesMax {
		panic(fmt.Sprintf("route %s %s takes bodies over vkBodyBytesMax", line.Method, line.Pattern))
	}
	known.routes = append(known.routes, counted{Route: line})
}

func (r *router) addResource(pattern string) *resource {
	added := &resource{pattern: pattern, parts: strings.Split(pattern, "/")[1:]}
	r.resources = append(r.resources, added)
	if slices.ContainsFunc(added.parts, isParam) {
		r.open = append(r.open, added)
	} else {
		r.fixed[pattern] = added
	}
	return added
}

// allowed lists methods as the header Allow does: with OPTIONS, which every URL has, and HEAD where there
// is GET.
func allowed(methods []string) string {
	methods = append(methods, fasthttp.MethodOptions)
	if slices.Contains(methods, fasthttp.MethodGet) {
		methods = append(methods, fasthttp.MethodHead)
	}
	slices.Sort(methods)
	return strings.Join(slices.Compact(methods), ", ")
}

// serve answers a request by the table. The path is decoded already.
func (r *router) serve(ctx *fasthttp.RequestCtx, a *answer, path []byte) {
	switch resource := r.find(path); {
	case resource != nil:
		resource.serve(ctx, Call{path: path, parts: resource.parts, answer: a})
	case string(path) == "*": // the server itself
		otherMethod(ctx, r.allow)
	default:
		reply(ctx, errNotFound)
	}
}

// find returns the resource of a path, nil where there is none.
func (r *router) find(path []byte) *resource {
	if resource := r.fixed[string(path)]; resource != nil { // the compiler does not copy the path here
		return resource
	}
	for _, resource := range r.open {
		if resource.covers(path) {
			return resource
		}
	}
	return nil
}

// covers reports whether the pattern matches a path or another pattern.
func (r *resource) covers(path []byte) bool {
	for _, own := range r.parts {
		if len(path) == 0 || path[0] != '/' { // CONNECT has none
			return false
		}
		var part []byte
		part, path = cutPart(path)
		if own != string(part) && (!isParam(own) || len(part) == 0) {
			return false
		}
	}
	return len(path) == 0
}

// bodyOf returns the limit of the body of a call, by its method and its target as sent.
func (r *router) bodyOf(method, target []byte) int {
	if _, rest, whole := bytes.Cut(target, []byte("://")); whole && target[0] != '/' {
		target = rest[max(bytes.IndexByte(rest, '/'), 0):]
	}
	path, _, _ := bytes.Cut(target, questionMark)
	if bytes.IndexByte(path, '%') >= 0 {
		path, _ = decodePath(path)
	}
	if resource := r.find(path); resource != nil {
		if line := resource.route(method); line != nil {
			return max(line.Work.body, bodyBytesMax)
		}
	}
	return bodyBytesMax
}

// serve answers a request to the resource.
func (r *resource) serve(ctx *fasthttp.RequestCtx, c Call) {
	method := ctx.Method()
	if ctx.IsHead() {
		method = methodGet // fasthttp leaves the body out
	}
	line := r.route(method)
	if line == nil {
		otherMethod(ctx, r.allow)
		return
	}
	c.answer.line = line
	if !line.Work.quick && c.answer.readByLoop() {
		c.answer.exchange.Decline()
		return
	}
	if !line.Work.public {
		keepPrivate(ctx)
	}
	user, ok := line.Access(ctx)
	if !ok {
		return
	}
	c.user, c.answer.user = user, user
	line.Handle(ctx, c)
	if !line.Work.quick {
		c.answer.server.logAct(ctx, c.path)
	}
}

var methodGet = []byte(fasthttp.MethodGet)

// route returns the route of a method, nil without one.
func (r *resource) route(method []byte) *counted {
	for i := range r.routes {
		if r.routes[i].Method == string(method) {
			return &r.routes[i]
		}
	}
	return nil
}

// otherMethod answers OPTIONS with the methods of a URL, and refuses other methods.
func otherMethod(ctx *fasthttp.RequestCtx, allow string) {
	ctx.Response.Header.Set(fasthttp.HeaderAllow, allow)
	if ctx.IsOptions() {
		ctx.SetStatusCode(fasthttp.StatusNoContent)
	} else {
		reply(ctx, errMethodNotAllowed)
	}
}
