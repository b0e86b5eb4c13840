package handlers

import "slices"

func rawHost(value string) string { return "GET /healthz HTTP/1.1\r\nHost: " + value + "\r\n\r\n" }

// A request without Host, with two, or with one that is invalid gets 400 (9112 3.2). Host = uri-host [ ":"
// port ] (9110 7.2) without user information (4.2.4).
var hostProbes = slices.Concat([]rawProbe{
	{"9112 3.2", "none", "GET /healthz HTTP/1.1\r\n\r\n", wantBad},
	{"9112 3.2", "none but other fields", "GET /healthz HTTP/1.1\r\nX-Host: shop\r\nAccept: */*\r\n\r\n",
		wantBad},
	{"9112 3.2", "two, equal", rawGet("Host: shop\r\n"), wantBad},
	{"9112 3.2", "two, different", rawGet("Host: evil\r\n"), wantBad},
	{"9112 3.2", "two, in different letters", rawGet("HOST: shop\r\n"), wantBad},
	{"9112 3.2", "two, far apart", rawGet("A: b\r\nC: d\r\nhost: evil\r\n"), wantBad},
	{"9112 3.2", "two, the second empty", rawGet("Host:\r\n"), wantBad},
	{"9112 3.2", "two, the first empty", "GET /healthz HTTP/1.1\r\nHost:\r\nHost: shop\r\n\r\n", wantBad},
	{"9112 3.2", "three", rawGet("Host: shop\r\nHost: shop\r\n"), wantBad},
	{"9112 3.2", "two in HTTP/1.0", "GET /healthz HTTP/1.0\r\nHost: shop\r\nHost: shop\r\n\r\n", wantBad},
	{"9112 3.2", "invalid in HTTP/1.0", "GET /healthz HTTP/1.0\r\nHost: a b\r\n\r\n", wantBad},
	{"9112 3.2", "none on a POST", "POST /login HTTP/1.1\r\n" + rawLength + "\r\n" + rawLogin, wantBad},
	{"9112 3.2", "none on an unknown path", "GET /nothing HTTP/1.1\r\n\r\n", wantBad},
	{"9112 3.2", "none on OPTIONS", "OPTIONS * HTTP/1.1\r\n\r\n", wantBad},
	{"9112 5.1", "space before the colon", "GET /healthz HTTP/1.1\r\nHost : shop\r\n\r\n", wantBad},
	{"9112 5.2", "folded", "GET /healthz HTTP/1.1\r\nHost:\r\n shop\r\n\r\n", wantBad},
	{"9112 5.2", "folded with more", "GET /healthz HTTP/1.1\r\nHost: shop\r\n evil\r\n\r\n", wantBad},
	{"9112 2.2", "behind a space", "GET /healthz HTTP/1.1\r\n Host: shop\r\n\r\n", wantBad},
	{"9112 5", "small letters", "GET /healthz HTTP/1.1\r\nhost: shop\r\n\r\n", wantAlive},
	{"9112 5", "capitals", "GET /healthz HTTP/1.1\r\nHOST: shop\r\n\r\n", wantAlive},
	{"9112 5.1", "no space behind the colon", "GET /healthz HTTP/1.1\r\nHost:shop\r\n\r\n", wantAlive},
	{"9112 5.1", "white space around", rawHost("\t shop \t"), wantAlive},
	{"9110 7.2", "last of the fields", "GET /healthz HTTP/1.1\r\nAccept: */*\r\nHost: shop\r\n\r\n",
		wantAlive},
	// The grammar has an empty host, the http scheme has not (9110 4.2.1).
	{"9110 7.2", "empty", rawHost(""), mayAlive},
	{"9110 7.2", "white space only", rawHost(" \t "), mayAlive},
},
	each("9110 7.2", "valid", rawHost, wantAlive, "shop", "SHOP", "shop.example", "a-b.example.", "127.0.0.1",
		"127.0.0.1:8080", "[ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255]:1", "shop:80", "[::1]", "[::1]:8080",
		"[2001:db8::1]:80", "shop_1", "shop:"),
	each("9110 7.2", "in the grammar, but odd", rawHost, mayAlive, "a,b", "a..b", ".", "a!$&'()*+;=", "%41",
		"shop:65536", "shop:00080", "[v1.a]", "~", "256.1.1.1", ":80"),
	each("9110 7.2", "invalid", rawHost, wantBad, "me@shop", "me:secret@shop", "@shop", "shop@", "shop:80@evil",
		"a b", "a\tb", "shop, evil", "shop/", "shop/path", "http://shop", "//shop", "shop?a", "shop#a",
		`shop\evil`, "shop:x", "shop:80x", "shop:80:80", "shop:-1", "shop:+80", "shop: 80", "shop :80", "::1",
		"[::1", "::1]", "[::1]x", "[]", "[shop]", "[::1]:x", "[1.2.3.4]", "[::1%eth0]", "[:::]",
		"[:::::::::::::::::::::::::::::::::::::::::::::::::::]", "<shop>", `"shop"`, "{shop}", "sh^op", "sh|op",
		"sh`op", "%", "%4", "%zz", "sh\x00op", "sh\x01op", "sh\x7fop", "sh\rop", "篮", "sh\xffop", "shop\v",
		"[::1%25eth0]\x00"),
)
