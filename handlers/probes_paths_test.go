package handlers

import "slices"

func rawPathOf(path string) string { return rawLine("GET " + path + " HTTP/1.1") }

func rawAsRoot(path string) string {
	return rawLine("GET " + path + " HTTP/1.1\r\nAccess-Token: {root}")
}

func rawAdd(path string) string {
	return "PATCH " + path +
		" HTTP/1.1\r\nHost: shop\r\nAccess-Token: {token}\r\nContent-Length: 23\r\n\r\n" +
		`{"food_id":1,"count":0}`
}

// A path is decoded once (RFC 3986 2.4), its letters count (9110 4.2.3). /admin/orders is meant only where
// it stands literally: a proxy's rule for it must not be walked around.
var pathProbes = slices.Concat([]rawProbe{
	{"3986 2.4", "encoded food list", rawLine("GET /%66oods HTTP/1.1\r\nAccess-Token: {token}"),
		"foods keep"},
	{"3986 2.4", "encoded login", "POST /%6Cogin HTTP/1.1\r\nHost: shop\r\n" + rawLength + "\r\n" +
		rawLogin, wantLogin},
	{"3986 2.4", "encoded without a token", rawPathOf("/%66oods"), "INVALID_TOKEN keep"},
	{"3986 2.4", "encoded with another method", rawLine("PUT /%66oods HTTP/1.1"), "NO_METHOD keep"},
	{"3986 2.4", "encoded with a query", rawPathOf("/%68ealthz?a=%62"), wantAlive},
	{"3986 2.4", "encoded query", rawLine("GET /orders?access%5Ftoken={token} HTTP/1.1"),
		"none keep or INVALID_TOKEN keep"},
	{"3986 2.4", "token in the query", rawLine("GET /orders?access_token={token} HTTP/1.1"), "none keep"},

	{"3986 2.4", "cart", rawAdd("/carts/{cart}"), "204 keep"},
	{"3986 2.4", "cart, every byte encoded", rawAdd("/carts/{%cart}"), "204 keep"},
	{"3986 2.4", "cart encoded twice", rawAdd("/carts/%2541{cart}"), "NO_CART keep"},
	{"3986 2.2", "cart behind an encoded slash", rawAdd("/carts%2F{cart}"), mayAbsent},
	{"3986 2.2", "cart with an encoded slash behind", rawAdd("/carts/{cart}%2F"),
		"NO_CART keep or " + mayAbsent},
	{"3986 2.2", "cart with an encoded query", rawAdd("/carts/{cart}%3Fa=b"),
		"NO_CART keep or " + mayAbsent},
	{"3986 2.1", "cart with a cut-off escape", rawAdd("/carts/{cart}%2"), "NO_CART keep or " + mayAbsent},
	{"contract", "cart that is none", rawAdd("/carts/-1"), "NO_CART keep"},
	{"contract", "no cart", rawAdd("/carts/"), wantAbsent},

	{"contract", "the list of root", rawAsRoot("/admin/orders"), "none keep"},
	{"contract", "the list of root for another user",
		rawLine("GET /admin/orders HTTP/1.1\r\nAccess-Token: {token}"), "INVALID_TOKEN keep"},
	{"contract", "around the list of root by a cart ID", rawAsRoot("/carts/%2e%2e%2fadmin%2forders"),
		"NO_METHOD keep or " + mayAbsent},
	// Literal, but a proxy's rule may only know paths.
	{"9112 3.2.2", "the list of root, absolute", rawAsRoot("http://shop/admin/orders"),
		"none keep or " + mayAbsent},
},
	each("3986 2.4", "encoded once", rawPathOf, wantAlive, "/%68ealthz", "/%68%65%61%6c%74%68%7a",
		"/%68%65%61%6C%74%68%7A", "/health%7A"),
	each("3986 2.4", "encoded twice", rawPathOf, mayAbsent, "/%2568ealthz", "/%25%36%38ealthz", "/%252566oods"),
	each("3986 2.1", "escape that is none", rawPathOf, mayAbsent, "/healthz%", "/healthz%2", "/healthz%zz",
		"/healthz%2z", "/%", "/%%68ealthz", "/%u0068ealthz", "/%+8ealthz", "/healthz%-1", "/%0x68ealthz", "/%6"),
	each("contract", "unknown", rawPathOf, wantAbsent, "/", "/nothing", "/healthz/", "/HEALTHZ", "/Healthz",
		"/healthz/x", "/health", "/healthzz", "/healthz;a=b", "/healthz,", "/x/healthz", "/healthz.json",
		"/foods/1", "/login/", "/admin", "/admin/"),
	each("3986 2.2", "encoded, but not the path", rawPathOf, mayAbsent, "/healthz%3Fa", "/healthz%23",
		"/healthz%20", "/healthz%09", "/healthz%0a", "/healthz%0d%0aX:a", "/healthz%00", "/%00healthz",
		"/healthz%7f", "/healthz%3Ba", "%2Fhealthz", "/%2Fhealthz", "/healthz%2F", "/healthz%5C"),
	// Other spellings of a path may be normalized (RFC 3986 6.2.2.3) or unknown.
	each("3986 6.2.2.3", "with dots or two slashes", rawPathOf, wantAlive+" or "+mayAbsent, "//healthz",
		"/./healthz", "/x/../healthz", "/../healthz", "/healthz/.", "/%2e/healthz", "/x/%2e%2e/healthz",
		"///healthz"),
	each("9112 3.2.1", "with a host and no scheme", rawPathOf, mayAbsent, "//x/healthz", "//shop/healthz",
		"//shop:80/healthz", "//"),
	each("contract", "around the list of root", rawAsRoot, mayAbsent, "/%61dmin/orders", "/admin/%6Frders",
		"/%61%64%6d%69%6e/orders", "/admin%2Forders", "/admin%2forders", "/%2fadmin/orders", "%2fadmin/orders",
		"//admin/orders", "/admin//orders", "///admin/orders", "/./admin/orders", "/admin/./orders",
		"/x/../admin/orders", "/foods/../admin/orders", "/../admin/orders", "/%2e/admin/orders",
		"/x/%2e%2e/admin/orders", "/x/..%2fadmin/orders", "/admin/orders/", "/admin/orders/.", "/admin/orders/..",
		"/admin/orders//", "/admin/orders%2f", "/admin/orders%00", "/admin/orders%20", "/admin/orders%3f",
		"/admin/orders%23", "/admin/orders;a=b", "/admin;a/orders", "/ADMIN/orders", "/Admin/Orders",
		`/admin\orders`, "/admin%5corders", "/admin%252forders", "/%2561dmin/orders", "/admin/orders.json",
		"//x/admin/orders", "/x//admin/orders", "/admin/order%73", "http://shop/%61dmin/orders",
		"http://shop//admin/orders", "http://shop/./admin/orders", "//shop/admin/orders", "/admin/orders%3Fa",
		"/%C1%A1dmin/orders", "/admin/orders%0a", "/carts/../admin/orders"),

	// Bytes above 0x7F stand in no target (9112 3.2); UTF-8 that is longer than it must be hides a
	// character (RFC 3629 3).
	each("9112 3.2", "raw byte above 0x7F", rawPathOf, wantBad, "/篮", "/foods\xe7\xaf\xae", "/\xff", "/\x80",
		"/healthz\xa0", "/\xc0\xafhealthz", "/\xc1\xa8ealthz", "/\xe9", "/é?a=b", "/foods/\xf0\x9f\x8d\x9c",
		"\xc0\xafhealthz", "/\xe0\x80\xafhealthz"),
	each("3629 3", "overlong, encoded", rawPathOf, wantBad, "/%c0%af", "/%C0%AFhealthz",
		"/%c0%ae%c0%ae/healthz", "/%c1%a6oods", "/%c1%a8ealthz", "/%e0%80%af", "/%e0%81%a8ealthz", "/%f0%80%80%af",
		"/%f0%80%81%a8ealthz", "/healthz%c0%80", "/carts/%c0%af"),
	each("3629 3", "no UTF-8, encoded", rawPathOf, mayAbsent, "/%ff", "/%80", "/%c3", "/%e7%af", "/%ed%a0%80",
		"/%f4%90%80%80", "/%f8%88%80%80%80"),
	each("3629 3", "UTF-8, encoded", rawPathOf, wantAbsent, "/%e7%af%ae", "/%C3%A9", "/%f0%9f%8d%9c"),
	// Characters that RFC 3986 does not have: refused, or the letters of an unknown path.
	each("3986 2", "in a path", func(c string) string { return rawPathOf("/healthz" + c) }, mayAbsent, `"`, "<",
		">", `\`, "^", "`", "{", "|", "}", "[", "]"),
)
