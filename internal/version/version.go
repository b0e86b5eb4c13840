// Package version describes this build of the program, from the facts that the Go toolchain puts into the
// binary.
package version

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// Module returns the module's version, "(devel)" where it was built from a working tree.
func Module() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}

// String returns one line: the module's version, the commit it was built from, the Go version and the
// platform.
func String() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{GoVersion: runtime.Version()}
	}
	return describe(info)
}

func describe(info *debug.BuildInfo) string {
	settings := map[string]string{"GOOS": runtime.GOOS, "GOARCH": runtime.GOARCH}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	version := info.Main.Version
	if version == "" {
		version = "(devel)"
	}
	commit := "unknown"
	if revision := settings["vcs.revision"]; revision != "" {
		commit = revision
		if settings["vcs.modified"] == "true" {
			commit += " with changes"
		}
	}
	return fmt.Sprintf("flashsale %s, commit %s, %s %s/%s",
		version, commit, info.GoVersion, settings["GOOS"], settings["GOARCH"])
}
