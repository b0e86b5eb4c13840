package deploy

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"flashsale/internal/polltest"
	"flashsale/internal/stand"
)

// site is the operator's desktop and the machines of the guide. All machines share one file
// system under root; each has an address of its own.
type site struct {
	root, desktop string
	network       string
	env           []string         // of what runs on the desktop
	manager       *httptest.Server // takes what the machines ask systemctl for

	mu       sync.Mutex
	services map[string]*stand.Process
}

// stubs stand for programs that reach other machines or would change this one. A file without a folder
// goes to the home of root, which is one for all machines as well.
var stubs = map[string]string{
	"ssh": `host=${1#*@}; shift; cd "$SITE" && MACHINE=$host exec bash -c "$*"`,
	"scp": `set -e
		to=${!#}; to=${to#*:}
		cp "${@:1:$#-1}" "${to:-$SITE/}"`,
	"systemctl": `curl -sS --fail-with-body --data "$*" "$MANAGER/$MACHINE"`,
	"chown":     `true`,
	"sysctl":    `true`,
}

// programs are those of the machines.
var programs = []string{
	"redis-server", "redis-cli", "redis-check-aof", "haproxy", "nginx", "openssl", "curl", "bash",
}

// newSite makes a site with the files that Debian packages put on the machines.
func newSite(t *testing.T) *site {
	t.Helper()
	for _, name := range programs {
		stand.Need(t, name)
	}
	root, err := os.MkdirTemp("", "site") // short: the path of a unix socket is limited
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(root) })
	s := &site{root: root, desktop: root + "/desktop", network: newNetwork(),
		services: map[string]*stand.Process{}}
	s.furnish(t)
	s.writeCatalogue(t)
	s.manager = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		command, err := io.ReadAll(r.Body)
		if err == nil {
			err = s.manage(t, strings.TrimPrefix(r.URL.Path, "/"), string(command))
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	}))
	t.Cleanup(s.manager.Close)
	s.env = []string{
		"PATH=" + root + "/stubs:" + os.Getenv("PATH"), "SITE=" + root + "/home", "MANAGER=" + s.manager.URL,
		"CURL_CA_BUNDLE=" + s.path("sale.crt"),
	}
	return s
}

// furnish puts files where Debian's packages and the operator would have put them.
func (s *site) furnish(t *testing.T) {
	t.Helper()
	for _, folder := range []string{
		"/etc/redis", "/etc/haproxy", "/etc/nginx", "/etc/default", "/etc/systemd/system",
		"/var/lib/redis", "/var/lib/flashsale", "/usr/local/bin", "/home", "/desktop",
	} {
		if err := os.MkdirAll(s.root+folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	stand.WriteFile(t, s.root+"/etc/redis/redis.conf", "dir "+s.root+"/var/lib/redis\ndaemonize no\n")
	for name, script := range stubs {
		stand.WriteFile(t, s.root+"/stubs/"+name, "#!/bin/bash\n"+script+"\n")
		executable(t, s.root+"/stubs/"+name)
	}
	for _, name := range []string{"flashsale.service", "haproxy.cfg", "nginx.conf"} {
		stand.WriteFile(t, s.path(name), stand.ReadFile(t, name))
	}
	stand.WriteFile(t, s.path("flashsale"), stand.ReadFile(t, stand.Built(t, stand.ServerSource)))
	executable(t, s.path("flashsale"))
}

func (s *site) writeCatalogue(t *testing.T) {
	t.Helper()
	var users, foods strings.Builder
	users.WriteString("id,name,password\n1,root,replaced\n")
	for id := 2; id <= 5000; id++ {
		fmt.Fprintf(&users, "%d,user%d,secret%d\n", id, id, id)
	}
	foods.WriteString("id,stock,price\n")
	for id := 1; id <= 50; id++ {
		fmt.Fprintf(&foods, "%d,500,%d\n", id, 3+id%20)
	}
	stand.WriteFile(t, s.path("users.csv"), users.String())
	stand.WriteFile(t, s.path("foods.csv"), foods.String())
}

// path is a file on the desktop.
func (s *site) path(name string) string { return filepath.Join(s.desktop, name) }

func executable(t *testing.T, path string) {
	t.Helper()
	if err := os.Chmod(path, 0o755); err != nil {
		t.Fatal(err)
	}
}

// glob is the one file on the desktop that a pattern fits.
func (s *site) glob(t *testing.T, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(s.path(pattern))
	if err != nil || len(found) != 1 {
		t.Fatalf("%s: %q, %v", pattern, found, err)
	}
	return found[0]
}

// machine is the address of the machine 10.0.0.<last> of the guide.
func (s *site) machine(last string) string { return s.network + last }

// place puts the addresses and paths of this site in the place of the guide's.
func (s *site) place(text string) string {
	front, root := s.machine("9"), s.root
	return strings.NewReplacer(
		"10.0.0.0/24", everywhere, "https://sale.example", "https://"+front+":8443",
		"FRONT_HOST=0.0.0.0", "FRONT_HOST="+front, "FRONT_PORT=443", "FRONT_PORT=8443",
		"listen 443", "listen "+front+":8443", "10.0.0.", s.network, "maxconn 5000", "maxconn 500",
		" /var/lib/flashsale/", " "+root+"/var/lib/$MACHINE/flashsale/", // one file system for all machines
		" /etc/", " "+root+"/etc/", ":/etc/", ":"+root+"/etc/", " /usr/local/", " "+root+"/usr/local/",
		":/usr/local/", ":"+root+"/usr/local/", " /var/lib/", " "+root+"/var/lib/", " /backup", " "+root+"/backup",
	).Replace(text)
}

// desk carries out a block on the operator's desktop and returns what it writes.
func (s *site) desk(t *testing.T, name string) string {
	t.Helper()
	return run(t, s.desktop, s.env, "bash", "-c", s.place(block(t, name)))
}

// control carries out systemctl on a machine, with the words of command.
func (s *site) control(t *testing.T, machine, command string) {
	t.Helper()
	if err := s.manage(t, machine, command); err != nil {
		t.Fatal(err)
	}
}

// awaitReady returns when all servers are ready.
func (s *site) awaitReady(t *testing.T) {
	t.Helper()
	for _, last := range []string{"11", "12", "13"} {
		polltest.Until(t, "server "+last+" is ready", func() bool {
			return get(http.DefaultClient, "http://"+s.machine(last)+":8080/readyz") == http.StatusOK
		})
	}
}
