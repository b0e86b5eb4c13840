package main

import (
	"debug/buildinfo"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"time"
)

// program is the server, built for one architecture.
type program struct {
	path string
	info *debug.BuildInfo
}

// machines are the architectures in the head of an ELF file.
var machines = map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}

// build builds the programs. Version, commit and time come from what the Go toolchain put into them.
func (r *release) build() error {
	for _, arch := range architectures {
		p, err := r.buildFor(arch)
		if err != nil {
			return fmt.Errorf("%s: %w", arch, err)
		}
		r.programs[arch] = p
		r.version = p.info.Main.Version
		r.revision = p.setting("vcs.revision")
		if r.time, err = sourceTime(p.setting("vcs.time")); err != nil {
			return err
		}
	}
	if r.wanted != "" && r.version != r.wanted {
		return fmt.Errorf("the version is %s, want %s", r.version, r.wanted)
	}
	return nil
}

func (r *release) buildFor(arch string) (*program, error) {
	p := &program{path: filepath.Join(r.stage, arch, "flashsale")}
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=true", "-ldflags=-s -w", "-o", p.path, ".")
	cmd.Dir, cmd.Env, cmd.Stderr = r.source, goEnvironment(arch), os.Stderr
	if err := cmd.Run(); err != nil {
		return nil, err
	}
	info, err := buildinfo.ReadFile(p.path)
	if err != nil {
		return nil, err
	}
	p.info = info
	if p.setting("vcs.revision") == "" || p.setting("vcs.modified") == "true" {
		return nil, fmt.Errorf("%s is no clean clone of the repository", r.source)
	}
	return p, static(p.path, machines[arch])
}

// goEnvironment has the go command build for an architecture. Whatever this machine has set for Go must not
// change the program.
func goEnvironment(arch string) []string {
	return append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+arch, "GOAMD64=v1", "GOARM64=v8.0",
		"GOFLAGS=-mod=readonly", "GOEXPERIMENT=", "GOFIPS140=off", "GOWORK=off")
}

func (p *program) setting(key string) string {
	for _, s := range p.info.Settings {
		if s.Key == key {
			return s.Value
		}
	}
	return ""
}

// static refuses a program that needs other files of a machine to start.
func static(path string, machine elf.Machine) error {
	file, err := elf.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	if file.Machine != machine {
		return fmt.Errorf("the program is for %v, want %v", file.Machine, machine)
	}
	for _, part := range file.Progs {
		if part.Type == elf.PT_INTERP || part.Type == elf.PT_DYNAMIC {
			return errors.New("the program is not static")
		}
	}
	return nil
}

// sourceTime is the time of all files: SOURCE_DATE_EPOCH, or else the time of the commit (RFC 3339).
func sourceTime(commit string) (time.Time, error) {
	text := os.Getenv("SOURCE_DATE_EPOCH")
	if text == "" {
		return time.Parse(time.RFC3339, commit)
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil || seconds < 0 {
		return time.Time{}, fmt.Errorf("SOURCE_DATE_EPOCH is %q; it must be a number of seconds", text)
	}
	return time.Unix(seconds, 0).UTC(), nil
}

// packageVersion is the version in the names of files and in packages. dpkg and rpm take what follows ~ as
// older than the version before it, and have another use for a hyphen.
func packageVersion(version string) string {
	number, before, found := strings.Cut(strings.TrimPrefix(version, "v"), "-")
	if !found {
		return number
	}
	return number + "~" + strings.ReplaceAll(before, "-", ".")
}
