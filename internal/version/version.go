// Package version describes this build of the program, from the facts that the Go toolchain puts into the
// binary.
package version

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
)

// Module returns the module's version, "(devel)" where it was built from a working tree.
func Module() string { return moduleOf(build()) }

// String returns one line: the module's version, the commit it was built from, the Go version and the
// platform.
func String() string { return describe(build()) }

func build() *debug.BuildInfo {
	if info, ok := debug.ReadBuildInfo(); ok {
		return info
	}
	return &debug.BuildInfo{GoVersion: runtime.Version()}
}

func moduleOf(info *debug.BuildInfo) string { return cmp.Or(info.Main.Version, "(devel)") }

func describe(info *debug.BuildInfo) string {
	settings := map[string]string{"GOOS": runtime.GOOS, "GOARCH": runtime.GOARCH}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	commit := cmp.Or(settings["vcs.revision"], "unknown")
	if settings["vcs.modified"] == "true" {
		commit += " with changes"
	}
	return fmt.Sprintf("flashsale %s, commit %s, %s %s/%s", moduleOf(info), commit, info.GoVersion,
		settings["GOOS"], settings["GOARCH"])
}
