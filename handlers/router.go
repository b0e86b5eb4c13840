package handlers

import (
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
	handle  func(*fasthttp.RequestCtx, call)
}

// call is the router's knowledge of a request.
type call struct {
	user   uint32 // who calls; 0 where a call is open to anybody or was made by another program
	parts  []string
	values []string
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
	routes  []route
	allow   string // value of the header Allow
}

// router finds the route of a request. It takes a few steps for each pattern and allocates: it is not for
// the hot calls.
type router struct {
	resources []*resource
	allow     string // of the server as a whole
}

// newRouter makes a router of a table. It panics on a line that could never be reached.
func newRouter(table []route) *router {
	r := &router{}
	methods := slices.Clone(serverMethods)
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
	return r
}

func (r *router) add(line route) {
	i := slices.IndexFunc(r.resources, func(known *resource) bool { return known.pattern == line.pattern })
	if i < 0 {
		i = len(r.resources)
		parts := strings.Split(line.pattern, "/")[1:]
		if slices.ContainsFunc(r.resources, func(known *resource) bool { return known.covers(parts) }) {
			panic(fmt.Sprintf("route %s %s is never reached", line.method, line.pattern))
		}
		r.resources = append(r.resources, &resource{pattern: line.pattern, parts: parts})
	}
	known := r.resources[i]
	if known.route(line.method) != nil {
		panic(fmt.Sprintf("route %s %s is there twice", line.method, line.pattern))
	}
	known.routes = append(known.routes, line)
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
func (r *router) serve(ctx *fasthttp.RequestCtx, path string) {
	if path == "*" { // the server itself
		otherMethod(ctx, r.allow)
		return
	}
	if rest, ok := strings.CutPrefix(path, "/"); ok { // CONNECT has none
		values := strings.Split(rest, "/")
		for _, resource := range r.resources {
			if resource.covers(values) {
				resource.serve(ctx, values)
				return
			}
		}
	}
	reply(ctx, errNotFound)
}

// covers reports whether the parts of a path, or of another pattern, have the form of the pattern.
func (r *resource) covers(parts []string) bool {
	return slices.EqualFunc(r.parts, parts, func(own, part string) bool {
		return own == part || own != "" && own[0] == ':' && part != ""
	})
}

func (r *resource) serve(ctx *fasthttp.RequestCtx, values []string) {
	method := string(ctx.Method())
	if method == fasthttp.MethodHead {
		method = fasthttp.MethodGet // fasthttp leaves the body out
	}
	line := r.route(method)
	if line == nil {
		otherMethod(ctx, r.allow)
		return
	}
	if user, ok := line.access(ctx); ok {
		line.handle(ctx, call{user: user, parts: r.parts, values: values})
	}
}

// route returns the line of a method, nil where there is none.
func (r *resource) route(method string) *route {
	for i := range r.routes {
		if r.routes[i].method == method {
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
