package deploy

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"flashsale/internal/testkit"
	"flashsale/internal/testkit/launch"
)

// site is what the guide is about: the operator's desktop and the machines. Each machine has an address
// and a file tree of its own, the folder of its address under root. An absolute path is wrong on the
// desktop, which has no tree.
type site struct {
	root, desktop string
	network       string
	env           []string         // of what runs on the desktop
	manager       *httptest.Server // takes what the machines ask systemctl for

	mu       sync.Mutex
	services map[string]*launch.Process
}

// stubs stand for programs that reach other machines or would change this one. A file without a folder is
// in the home of root.
var stubs = map[string]string{
	"ssh": `machine=${1#*@}; shift
		cd "$SITE/$machine/root" || exit 255
		MACHINE=$machine exec bash -c "$(sed -E "s#$PATHS#\\1$SITE/$machine/\\2#g" <<<"$*")"`,
	"scp": `set -e
		for word; do
			case $word in
			root@*:/*) path=${word#*:} machine=${word#*@}; word=$SITE/${machine%%:*}$path ;;
			root@*:*) path=${word#*:} machine=${word#*@}; word=$SITE/${machine%%:*}/root/$path ;;
			/*) echo "scp: the desktop has no $word" >&2; exit 1 ;;
			esac
			words+=("$word")
		done
		cp "${words[@]}"`,
	"systemctl": `curl -sS --fail-with-body --data "$*" "$MANAGER/$MACHINE"`,
	"chown":     `true`,
	"sysctl":    `true`,
}

// programs are those of the machines.
var programs = []string{
	"redis-server", "redis-cli", "redis-check-aof", "haproxy", "nginx", "openssl", "curl", "bash",
}

// newSite makes a site whose machines have what a Debian package would have put there.
func newSite(t *testing.T) *site {
	t.Helper()
	for _, name := range programs {
		testkit.Need(t, name)
	}
	root, err := os.MkdirTemp("", "site") // short: the path of a unix socket is limited
	testkit.Must(t, err)
	t.Cleanup(func() { os.RemoveAll(root) })
	s := &site{root: root, desktop: root + "/desktop", network: newNetwork(),
		services: map[string]*launch.Process{}}
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
		"PATH=" + root + "/stubs:" + os.Getenv("PATH"), "SITE=" + root, "PATHS=" + paths.String(),
		"MANAGER=" + s.manager.URL,
		"CURL_CA_BUNDLE=" + s.path("sale.crt"),
	}
	return s
}

// furnish puts files where Debian's packages and the operator would have put them.
func (s *site) furnish(t *testing.T) {
	t.Helper()
	testkit.Must(t, os.Mkdir(s.desktop, 0o755))
	for last := range machines {
		s.install(t, last)
	}
	for name, script := range stubs {
		testkit.WriteFile(t, s.root+"/stubs/"+name, "#!/bin/bash\n"+script+"\n")
		executable(t, s.root+"/stubs/"+name)
	}
	for _, name := range shipped(t) {
		testkit.WriteFile(t, s.path(name), s.place(testkit.ReadFile(t, name)))
	}
	for name, source := range map[string]string{
		"flashsale": launch.ServerSource, "bench": "flashsale/scripts/bench",
	} {
		testkit.WriteFile(t, s.path(name), testkit.ReadFile(t, launch.Built(t, source)))
		testkit.Must(t, os.Chmod(s.path(name), 0o700)) // as a strict umask makes it
	}
}

// machines are the last bytes of their addresses, with the folders that Debian's packages make there.
var machines = map[string][]string{
	"9":  {"/etc/haproxy", "/etc/nginx", "/etc/default"},
	"10": redis, "21": redis, "22": redis, "23": redis, "24": redis, "25": redis, "26": redis,
	"11": server, "12": server, "13": server,
}

// install makes a new machine, with nothing of one that was there.
func (s *site) install(t *testing.T, last string) {
	t.Helper()
	tree := s.tree(s.machine(last))
	testkit.Must(t, os.RemoveAll(tree))
	for _, folder := range append([]string{"/root"}, machines[last]...) {
		testkit.Must(t, os.MkdirAll(tree+folder, 0o755))
	}
	if _, err := os.Stat(tree + "/etc/redis"); err == nil {
		testkit.WriteFile(t, tree+"/etc/redis/redis.conf", "dir "+tree+"/var/lib/redis\ndaemonize no\n")
	}
}

var (
	redis  = []string{"/etc/redis", "/etc/sysctl.d", "/var/lib/redis"}
	server = []string{"/etc/systemd/system", "/usr/local/bin", "/var/lib"}
)

// shipped are the files of this folder that the operator works with.
func shipped(t *testing.T) (names []string) {
	t.Helper()
	for _, pattern := range []string{"*.sh", "*.cfg", "*.conf", "*.service"} {
		found, err := filepath.Glob(pattern)
		testkit.Must(t, err)
		names = append(names, found...)
	}
	return names
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
	testkit.WriteFile(t, s.path("users.csv"), users.String())
	testkit.WriteFile(t, s.path("foods.csv"), foods.String())
}

// path is a file on the desktop.
func (s *site) path(name string) string { return filepath.Join(s.desktop, name) }

func executable(t *testing.T, path string) {
	t.Helper()
	testkit.Must(t, os.Chmod(path, 0o755))
}

// machine is the address of the machine 10.0.0.<last> of the guide.
func (s *site) machine(last string) string { return s.network + last }

// tree is the folder with the files of a machine.
func (s *site) tree(machine string) string { return s.root + "/" + machine }

// place puts the addresses of this site in the place of the guide's.
func (s *site) place(text string) string {
	front := s.machine("9")
	return strings.NewReplacer(
		"10.0.0.0/24", everywhere, "https://sale.example", "https://"+front+":8443",
		"FRONT_HOST=0.0.0.0", "FRONT_HOST="+front, "FRONT_PORT=443", "FRONT_PORT=8443",
		"10.0.0.9:443", front+":8443", "listen 443", "listen "+front+":8443",
		"10.0.0.", s.network, "FRONT_CONNS 20000", "FRONT_CONNS 500",
	).Replace(text)
}

// paths finds the absolute paths in a command or in the settings of a machine.
var paths = regexp.MustCompile(`(^|[ :=])/((etc|usr/local|var|root|backup)/)`)

// local puts a machine's file tree in the place of its root folder.
func (s *site) local(machine, text string) string {
	if strings.Contains(text, s.tree(machine)) {
		return text // it is there
	}
	return paths.ReplaceAllString(text, "${1}"+s.tree(machine)+"/${2}")
}

// desk pastes a block into a shell of the operator and returns what it writes.
func (s *site) desk(t *testing.T, name string) string {
	t.Helper()
	out, ok := s.paste(t, name)
	if !ok {
		t.Fatalf("block %s fails:\n%s", name, out)
	}
	return out
}

// deskFails pastes a block that must fail.
func (s *site) deskFails(t *testing.T, name string) {
	t.Helper()
	if out, ok := s.paste(t, name); ok {
		t.Errorf("block %s passed:\n%s", name, out)
	}
}

// paste pastes a block into a shell of the operator and reports whether it succeeded. The shell has to
// stay as it was, whatever comes of the block.
func (s *site) paste(t *testing.T, name string) (out string, ok bool) {
	t.Helper()
	const script = `before="$(umask) $- $PWD $(trap -p)"
		eval "$BLOCK"
		status=$?
		test "$before" = "$(umask) $- $PWD $(trap -p)" && echo the shell is as before, $status`
	ctx, cancel := context.WithTimeout(context.Background(), commandMax)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", script)
	cmd.WaitDelay = time.Second // for what it left behind with its output open
	cmd.Dir, cmd.Env = s.desktop, append(append(os.Environ(), s.env...), "BLOCK="+s.place(block(t, name)))
	all, _ := cmd.CombinedOutput() // the last line tells more than the error
	out, status, found := strings.Cut(string(all), "the shell is as before, ")
	if !found {
		t.Fatalf("block %s has ended or changed the operator's shell:\n%s", name, out)
	}
	return out, status == "0\n"
}

// control is what an operator types on a machine.
func (s *site) control(t *testing.T, machine, command string) {
	t.Helper()
	testkit.Must(t, s.manage(t, machine, command))
}

// awaitReady returns when all servers are ready.
func (s *site) awaitReady(t *testing.T) {
	t.Helper()
	for _, last := range []string{"11", "12", "13"} {
		testkit.Until(t, "server "+last+" is ready", func() bool {
			return get(http.DefaultClient, "http://"+s.machine(last)+":8080/readyz") == http.StatusOK
		})
	}
}
