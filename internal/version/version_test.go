package version

import (
	"regexp"
	"runtime/debug"
	"testing"
)

func TestDescribe(t *testing.T) {
	platform := []debug.BuildSetting{{Key: "GOOS", Value: "linux"}, {Key: "GOARCH", Value: "arm64"}}
	revision := append(platform, debug.BuildSetting{Key: "vcs.revision", Value: "0123abcd"})
	modified := append(revision, debug.BuildSetting{Key: "vcs.modified", Value: "true"})
	for _, test := range []struct {
		version  string
		settings []debug.BuildSetting
		want     string
	}{
		{"v1.2.3", revision, "flashsale v1.2.3, commit 0123abcd, go1.26.8 linux/arm64"},
		{"(devel)", modified, "flashsale (devel), commit 0123abcd with changes, go1.26.8 linux/arm64"},
		{"", platform, "flashsale (devel), commit unknown, go1.26.8 linux/arm64"},
	} {
		info := &debug.BuildInfo{GoVersion: "go1.26.8", Main: debug.Module{Version: test.version},
			Settings: test.settings}
		if got := describe(info); got != test.want {
			t.Errorf("%s, want %s", got, test.want)
		}
	}
	if got := String(); !regexp.MustCompile(`^flashsale \S+, commit .+, go\S+ \w+/\w+$`).MatchString(got) {
		t.Errorf("this test is %q", got)
	}
}
