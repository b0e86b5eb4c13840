package deploy

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"flashsale/internal/testkit"
	"flashsale/internal/testkit/launch"
)

// manage does for a machine of the site what systemctl does: a command is a verb and a service.
func (s *site) manage(t *testing.T, machine, command string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	verb, service, _ := strings.Cut(command, " ")
	name := onMachine(service, machine)
	if running := s.services[name]; running != nil && (verb == "stop" || verb == "restart") {
		running.Stop()
		delete(s.services, name)
	}
	switch {
	case verb == "start" || verb == "restart":
	case verb == "reload" && s.services[name] != nil:
		return s.services[name].Signal(syscall.SIGHUP)
	case verb == "stop" || verb == "enable" || command == "daemon-reload":
		return nil
	default:
		return fmt.Errorf("systemctl %s is not known here", command)
	}
	switch service {
	case "redis-server":
		for _, file := range []string{"redis.conf", "redis-sale.conf"} {
			s.settle(t, machine, "/etc/redis/"+file)
		}
		s.services[name] = start(t, nil, "redis-server", s.tree(machine)+"/etc/redis/redis.conf")
		run(t, s.desktop, s.env, "timeout", "30", "bash", "-c", s.place(`. ./operator.env
			until redis-cli -h `+machine+` PING | grep -q PONG; do sleep 0.05; done`))
	case "redis-sentinel":
		file := s.settle(t, machine, "/etc/redis/sentinel.conf")
		s.services[name] = start(t, nil, "redis-server", file, "--sentinel")
	case "flashsale":
		s.services[name] = s.startUnit(t, machine)
	case "haproxy", "nginx":
		s.startFront(t, service)
	default:
		return fmt.Errorf("there is no service %s", service)
	}
	return nil
}

// onMachine is the name of a service. The front has one machine, the others may have several.
func onMachine(service, machine string) string {
	if service == "haproxy" || service == "nginx" {
		return service
	}
	return service + " on " + machine
}

// startFront starts a proxy on the machine of the front, in the place of the one that runs there.
func (s *site) startFront(t *testing.T, service string) {
	for _, name := range []string{"haproxy", "nginx"} {
		if running := s.services[name]; running != nil {
			running.Stop()
			delete(s.services, name)
		}
	}
	file := map[string]string{"haproxy": "haproxy.cfg", "nginx": "nginx.conf"}[service]
	machine := s.machine("9")
	config := s.settle(t, machine, "/etc/"+service+"/"+file)
	if service == "nginx" {
		s.services[service] = runNginx(t, config)
	} else {
		env := environment(testkit.ReadFile(t, s.settle(t, machine, "/etc/default/haproxy")))
		s.services[service] = start(t, env, "haproxy", "-db", "-f", config)
	}
	awaitListener(t, machine+":8443")
}

// settle puts the machine's file tree into the paths of one of its files, and returns where that one is.
func (s *site) settle(t *testing.T, machine, file string) (path string) {
	path = s.tree(machine) + file
	testkit.WriteFile(t, path, s.local(machine, testkit.ReadFile(t, path)))
	return path
}

// startUnit starts what the installed unit starts, with the environment and the credentials that the unit
// gives it. The one thing that differs from systemd's way: it listens on the machine's own address only.
func (s *site) startUnit(t *testing.T, machine string) *launch.Process {
	tree := s.tree(machine)
	unit := testkit.ReadFile(t, tree+"/etc/systemd/system/flashsale.service")
	credentials := filepath.Join(t.TempDir(), "credentials")
	for _, credential := range settings(unit, "LoadCredential") {
		name, from, _ := strings.Cut(credential, ":")
		testkit.WriteFile(t, filepath.Join(credentials, name), testkit.ReadFile(t, tree+from))
	}
	expand := strings.NewReplacer("%d", credentials, "%S", tree+"/var/lib").Replace
	var env []string
	for _, line := range settings(unit, "Environment") {
		env = append(env, strings.Fields(expand(line))...)
	}
	for _, file := range settings(unit, "EnvironmentFile") {
		env = append(env, environment(testkit.ReadFile(t, tree+file))...)
	}
	if host := "APP_HOST=0.0.0.0"; !slices.Contains(env, host) {
		t.Fatalf("the front cannot reach the server: it is not started with %s", host)
	}
	env = append(env, "APP_HOST="+machine)
	command := strings.Fields(expand(settings(unit, "ExecStart")[0]))
	testkit.Must(t, os.MkdirAll(command[2], 0o700))
	path := tree + "/usr/local/bin/" + command[0] // where systemd looks first
	program, err := os.Stat(path)
	testkit.Must(t, err)
	if program.Mode().Perm()&0o005 != 0o005 { // DynamicUser is another user
		t.Fatalf("the service may not execute its program: %v", program.Mode())
	}
	return start(t, env, path, append(command[1:], "-workers", "1")...)
}

// environment reads an environment file as systemd does, as far as the guide's files go.
func environment(text string) (env []string) {
	for line := range strings.Lines(text) {
		name, value, found := strings.Cut(strings.TrimSpace(line), "=")
		if found && !strings.HasPrefix(name, "#") {
			env = append(env, name+"="+strings.Trim(value, `"`))
		}
	}
	return env
}
