package handlers

import (
	"fmt"
	"strings"
	"testing"

	"flashsale/redisx/redistest"
)

// All orders in the other formats, with names, prices and times, for root only.
func TestExportOrders(t *testing.T) { onEngines(t, testExportOrders) }

func testExportOrders(t *testing.T, open opener) {
	server := redistest.Start(t)
	s := open(t, "unix", server.Socket)
	id := s.cfg.Sale.ID()
	check := func(path, contentType, name, want string) {
		t.Helper()
		status, body, header := s.call(t, rootUser, "GET", path, "")
		if status != 200 || body != want || header.Get("Content-Type") != contentType ||
			header.Get("Content-Disposition") != `attachment; filename="`+name+`"` {
			t.Errorf("%s: %d %q %v\nwant %q", path, status, body, header, want)
		}
	}
	const head = "order_id,user_id,user_name,items,prices,total,placed_at\r\n"
	const csvType = "text/csv; charset=utf-8; header=present"
	check("/admin/orders?format=csv", csvType, "orders-"+id+".csv", head)
	check("/admin/orders?format=jsonl", "application/jsonl", "orders-"+id+".jsonl", "")
	server.Do(t, `EVAL "redis.call('SET', 'o_7', '2:1,1:2,|key\\n1800000000123') return 1" 0`)
	total := s.price(2) + 2*s.price(1)
	check("/admin/orders?format=csv", csvType, "orders-"+id+".csv", head+
		fmt.Sprintf("%s-7,7,user7,2=1 1=2,2=%d 1=%d,%d,2027-01-15T08:00:00.123Z\r\n", id, s.price(2),
			s.price(1), total))
	check("/admin/orders?format=jsonl", "application/jsonl", "orders-"+id+".jsonl",
		fmt.Sprintf(`{"id":"%s-7","user_id":7,"username":"user7","items":[{"food_id":2,"price":%d,"count":1},`+
			`{"food_id":1,"price":%d,"count":2}],"total":%d,"placed_at":"2027-01-15T08:00:00.123Z"}`+"\n",
			id, s.price(2), s.price(1), total))
	s.expect(t, rootUser, "GET", "/admin/orders?format=xml", "", 400,
		`{"code":"INVALID_FORMAT","message":"format 须为 csv 或 jsonl"}`)
	s.expect(t, 2, "GET", "/admin/orders?format=csv", "", 401, invalidToken)
	awaitNoLists(t, s)
}

// People who have registered have their names in an export, where the server knows them.
func TestExportOfRegistered(t *testing.T) { onEngines(t, testExportOfRegistered) }

func testExportOfRegistered(t *testing.T, open opener) {
	server := redistest.Start(t)
	s := open(t, "unix", server.Socket)
	server.Do(t, `EVAL "for _, user in ipairs({'7', '2147483648', '2147483649'}) do redis.call('SET', 'o_' .. `+
		`user, '1:1,|key\\n1800000000123') end return 1" 0`)
	check := func(format, row string, names ...string) {
		t.Helper()
		_, body, _ := s.call(t, rootUser, "GET", "/admin/orders?format="+format, "")
		for i, user := range []uint32{7, first, first + 1} {
			if want := fmt.Sprintf(row, user, names[i]); !strings.Contains(body, want) {
				t.Errorf("%s: %s, want %s in it", format, body, want)
			}
		}
	}
	check("csv", "-%[1]d,%[1]d,%s,1=1,", "user7", "", "") // without -chat
	s.withAccounts(t)
	s.expectSession(t, "/users", registration("Zoë, the 1st", "password"), 201, first, "Zoë, the 1st")
	check("csv", "-%[1]d,%[1]d,%s,1=1,", "user7", `"Zoë, the 1st"`, "")
	check("jsonl", `"user_id":%d,"username":"%s",`, "user7", "Zoë, the 1st", "")
	awaitNoLists(t, s)
}

// A refusal or an outage is no file.
func TestExportFails(t *testing.T) { onEngines(t, testExportFails) }

func testExportFails(t *testing.T, open opener) {
	server := redistest.New(t)
	s := open(t, "unix", server.Socket)
	check := func(status int, want string) {
		t.Helper()
		for _, format := range []string{"csv", "jsonl"} {
			header := s.expect(t, rootUser, "GET", "/admin/orders?format="+format, "", status, want)
			if file := header.Values("Content-Disposition"); len(file) > 0 {
				t.Errorf("%d is the file %q", status, file)
			}
		}
	}
	s.fillLists()
	check(429, tooMany)
	s.freeLists()
	server.Kill(t)
	check(503, unavailable)
	awaitNoLists(t, s)
}

// A client of HTTP/1.0 is told the name of the file too.
func TestExportForHTTP10(t *testing.T) { onBoth(t, testExportForHTTP10) }

func testExportForHTTP10(t *testing.T, s *shop) {
	heard := talk(t, strings.TrimPrefix(s.overTCP(t, trustLoopback).base, "http://"),
		"GET /admin/orders?format=csv HTTP/1.0\r\nHost: shop\r\nAccess-Token: "+s.token(rootUser)+"\r\n\r\n", "")
	if len(heard.replies) != 1 || heard.err != nil {
		t.Fatalf("%d replies, %v", len(heard.replies), heard.err)
	}
	want := `attachment; filename="orders-` + s.cfg.Sale.ID() + `.csv"`
	if name := heard.replies[0].Header.Get("Content-Disposition"); name != want {
		t.Errorf("the file is %q, want %q", name, want)
	}
}
