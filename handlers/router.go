package handlers

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/valyala/fasthttp"
)

// route is one line of the table.
type route struct {
	method string
	// /threads/:id/posts/:n; a part that begins with a colon stands for any text without a slash
	pattern string
	access  access
	place   place
	handle  func(*fasthttp.RequestCtx, call)
}

// counted is a route with its places among the figures and in the statistics, see nameFigures and
// countTraffic.
type counted struct {
	route
	figure, hits int
}

// place is where a handler runs, and the length of the bodies that it takes there.
type place struct {
	loop bool
	body int // bytes, with the lines of chunks
}

var (
	// onLoop is the event loop, or where there is none a goroutine; the handler must not wait, and a hot call's
	// not allocate.
	onLoop      = place{true, bodyBytesMax}
	onGoroutine = place{false, bodyBytesMax}
)

// takes is onGoroutine for bodies of up to this number of bytes: the loop has no time for long ones.
func takes(bytes int) place { return place{false, bytes} }

// call is the router's knowledge of a request.
type call struct {
	user   uint32 // who calls; 0 where a call is open to anybody or was made by another program
	path   []byte // of a hot call, decoded
	parts  []string
	values []string
	answer *answer
}

// param returns the part of the path that the pattern names, decoded. A slash or a control character in it
// is still encoded.
func (c call) param(name string) string {
	for i, part := range c.parts {
		if part[0] == ':' && part[1:] == name {
			return c.values[i]
		}
	}
	panic("no parameter " + name + " in the route's pattern")
}

// resource is a pattern with all its methods.
type resource struct {
	pattern string
	parts   []string
	routes  []counted
	allow   string // value of the header Allow
	hot     bool   // see router.hot
}

// router finds the route of a request. For all but the hot calls it takes a few steps for each pattern, and
// allocates.
type router struct {
	resources []*resource
	partsMax  int    // of a pattern
	allow     string // of the server as a whole

	login, foods, carts, cart, orders, sale *resource // see hot
}

// newRouter makes a router of a table. It panics on a line that could never be reached, or takes too much.
func newRouter(table []route) *router {
	r := &router{}
	var methods []string
	for _, line := range table {
		r.add(line)
		methods = append(methods, line.method)
	}
	for _, resource := range r.resources {
		var own []string
		for _, line := range resource.routes {
			own = append(own, line.method)
		}
		resource.allow = allowed(own)
	}
	r.allow = allowed(methods)
	for pattern, resource := range map[string]**resource{
		"/login": &r.login, "/foods": &r.foods, "/carts": &r.carts, "/carts/:id": &r.cart, "/orders": &r.orders,
		"/sale": &r.sale,
	} {
		if i := r.index(pattern); i >= 0 {
			*resource = r.resources[i]
			r.resources[i].hot = true
		}
	}
	return r
}

// index returns the place of a pattern among the resources, -1 if it is not there.
func (r *router) index(pattern string) int {
	return slices.IndexFunc(r.resources, func(known *resource) bool { return known.pattern == pattern })
}

func (r *router) add(line route) {
	i := r.index(line.pattern)
	if i < 0 {
		i = len(r.resources)
		parts := strings.Split(line.pattern, "/")[1:]
		if slices.ContainsFunc(r.resources, func(known *resource) bool { return known.covers(parts) }) {
			panic(fmt.Sprintf("route %s %s is never reached", line.method, line.pattern))
		}
		r.resources = append(r.resources, &resource{pattern: line.pattern, parts: parts})
		r.partsMax = max(r.partsMax, len(parts))
	}
	known := r.resources[i]
	if known.route([]byte(line.method)) != nil {
		panic(fmt.Sprintf("route %s %s is there twice", line.method, line.pattern))
	}
	if line.place.body > vkBodyBytesMax {
		panic(fmt.Sprintf("route %s %s takes bodies over vkBodyBytesMax", line.method, line.pattern))
	}
	known.routes = append(known.routes, counted{route: line})
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
func (r *router) serve(ctx *fasthttp.RequestCtx, a *answer, path string) {
	if path == "*" { // the server itself
		otherMethod(ctx, r.allow)
		return
	}
	if resource, values := r.find(path); resource != nil {
		resource.serve(ctx, call{values: values, answer: a})
		return
	}
	reply(ctx, errNotFound)
}

// find returns the resource of a path and the parts of the path, nil where there is none.
func (r *router) find(path string) (found *resource, values []string) {
	rest, ok := strings.CutPrefix(path, "/")
	if !ok { // CONNECT has none
		return nil, nil
	}
	values = strings.SplitN(rest, "/", r.partsMax+1) // no resource has more
	for _, resource := range r.resources {
		if resource.covers(values) {
			return resource, values
		}
	}
	return nil, nil
}

// bodyOf returns the length of the bodies that a call may have, by its method and its target as it is sent.
func (r *router) bodyOf(method, target []byte) int {
	if _, rest, whole := bytes.Cut(target, []byte("://")); whole && target[0] != '/' {
		target = rest[max(bytes.IndexByte(rest, '/'), 0):]
	}
	path, _, _ := bytes.Cut(target, questionMark)
	if bytes.IndexByte(path, '%') >= 0 {
		path, _ = decodePath(path)
	}
	resource := r.hot(path)
	if resource == nil {
		resource, _ = r.find(string(path))
	}
	if resource == nil || resource.route(method) == nil {
		return bodyBytesMax
	}
	return resource.route(method).place.body
}

// covers reports whether the parts of a path, or of another pattern, have the form of the pattern.
func (r *resource) covers(parts []string) bool {
	return slices.EqualFunc(r.parts, parts, func(own, part string) bool {
		return own == part || own != "" && own[0] == ':' && part != ""
	})
}

// serve answers a request to the resource.
func (r *resource) serve(ctx *fasthttp.RequestCtx, c call) {
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
	if !line.place.loop && c.answer.readByLoop() {
		c.answer.exchange.Decline()
		return
	}
	if !line.place.loop || !r.hot {
		keepPrivate(ctx)
	}
	user, ok := line.access(ctx)
	if !ok {
		return
	}
	c.user, c.parts, c.answer.user = user, r.parts, user
	line.handle(ctx, c)
}

var methodGet = []byte(fasthttp.MethodGet)

// route returns the line of a method, nil where there is none.
func (r *resource) route(method []byte) *counted {
	for i := range r.routes {
		if r.routes[i].method == string(method) {
			return &r.routes[i]
		}
	}
	return nil
}

// otherMethod answers OPTIONS with the methods of a URL, and refuses a method that is none of them.
func otherMethod(ctx *fasthttp.RequestCtx, allow string) {
	ctx.Response.Header.Set(fasthttp.HeaderAllow, allow)
	if ctx.IsOptions() {
		ctx.SetStatusCode(fasthttp.StatusNoContent)
	} else {
		reply(ctx, errMethodNotAllowed)
	}
}
