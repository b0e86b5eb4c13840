package deploy

import (
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"flashsale/internal/testkit"
	"flashsale/internal/testkit/client"
)

const (
	people      = 300 // behind one address of their carrier
	viewersMost = 20  // in the place of 10000, and of 500 from an address
	live        = " HTTP/1.1\r\nHost: a\r\n\r\n"
)

// People behind one address log in, watch and buy, all at the same time, within the limits of an address in
// the shipped files.
func TestFrontsServePeopleBehindOneAddress(t *testing.T) {
	room := map[string][]string{ // twice the connections that they need; the files have more
		"haproxy": {"FRONT_CONNS 500", "FRONT_CONNS 1200"},
		"nginx":   {"worker_connections 32768", "worker_connections 2400"},
	}
	each(t, func(t *testing.T, name string) {
		server := newServerBehind(t)
		front := startFront(t, name, server, "192.0.2.0/24", room[name]...)
		viewers := make([]net.Conn, people)
		for i := range people {
			viewers[i] = dial(t, "127.0.0.1", front)
			if head := watch(viewers[i], "/live"); status(head) != 200 {
				t.Fatalf("viewer %d is answered %q", i+1, head)
			}
		}
		for i := range people { // a buyer who waited for all others to log in could be idle for too long
			buyer := newBuyer(t, front) // its connection is kept
			testkit.Must(t, buyer.LoginUser(i+2))
			cart, err := buyer.Fill(client.Pieces(1, 1))
			testkit.Must(t, err)
			_, err = buyer.Order(cart)
			testkit.Must(t, err)
		}
		for i, viewer := range viewers {
			if heard := hear(viewer, "event: pace"); !strings.HasSuffix(heard, "event: pace") {
				t.Fatalf("viewer %d heard no more than %q", i+1, heard)
			}
		}
	})
}

// Viewers have a limit, of all and of an address, whatever way they spell the path; buyers have the rest.
func TestViewersLeaveRoomForBuyers(t *testing.T) {
	const buyers = viewersMost/2 - 2 // two connections are left for what else the test asks
	changes := map[string][]string{
		"haproxy": {"FRONT_CONNS 500", "FRONT_CONNS 30", "FRONT_VIEWERS 10000", "FRONT_VIEWERS 20",
			"FRONT_VIEWERS_PER_IP 500", "FRONT_VIEWERS_PER_IP 20"},
		"nginx": {"limit_conn viewers 10000", "limit_conn viewers 20",
			"limit_conn viewers_of_address 500", "limit_conn viewers_of_address 20"},
	}
	each(t, func(t *testing.T, name string) {
		server := newServerBehind(t)
		for what, admin := range map[string]string{"all": everywhere, "an address": "192.0.2.0/24"} {
			front := startFront(t, name, server, admin, changes[name]...)
			var watching []net.Conn
			for range 3 * viewersMost {
				viewer := dial(t, "127.0.0.1", front)
				if head := watch(viewer, "/live"); status(head) == 200 {
					watching = append(watching, viewer)
				} else {
					checkUnavailable(t, head, hear(viewer, "}"))
					viewer.Close()
				}
			}
			if len(watching) != viewersMost {
				t.Errorf("%s: %d viewers watch, want %d", what, len(watching), viewersMost)
			}
			for range buyers {
				b := newBuyer(t, front) // its connection is kept
				testkit.Must(t, b.LoginUser(2))
			}
			for _, path := range append(livePaths, "/live") {
				viewer := dial(t, "127.0.0.1", front)
				if head := watch(viewer, path); status(head) == 200 {
					t.Errorf("%s: GET %s is one viewer more", what, path)
				}
				viewer.Close()
			}
			watching[0].Close()
			testkit.Until(t, "there is room for another viewer", func() bool {
				viewer := dial(t, "127.0.0.1", front)
				defer viewer.Close()
				return status(watch(viewer, "/live")) == 200
			})
		}
	})
}

// livePaths are other ways to write /live: some the server takes for it.
var livePaths = strings.Fields(`/%6cive /%6Civ%65 http://a/live http://a/%6cive /live?x=1 //live /./live
	/x/../live /live/ /%2flive /live%00 /LIVE /live;x /live%3fx`)

func checkUnavailable(t *testing.T, head, body string) {
	t.Helper()
	head = strings.ToLower(head)
	if status(strings.ToUpper(head)) != 503 || !strings.Contains(head, "\r\nretry-after: 1") ||
		!strings.Contains(head, "\r\ncontent-type: application/json") || body != unavailable {
		t.Errorf("a viewer too many is answered %q %q", head, body)
	}
}

// watch asks for events and returns the head of the reply.
func watch(conn net.Conn, path string) (head string) {
	if _, err := io.WriteString(conn, "GET "+path+live); err != nil {
		return ""
	}
	return hear(conn, "\r\n\r\n")
}

// hear returns what comes until it ends in a text, or all when the connection ends first.
func hear(conn net.Conn, end string) string {
	var heard strings.Builder
	_ = conn.SetReadDeadline(time.Now().Add(patience)) // a connection that is closed ends the loop
	for one := make([]byte, 1); !strings.HasSuffix(heard.String(), end); heard.Write(one) {
		if _, err := conn.Read(one); err != nil {
			break
		}
	}
	return heard.String()
}
