// Release makes the files of a release from a clean clone of the repository; scripts/release.sh makes the
// clone and starts it. The same commit gives the same bytes: every time in the files is the time of the
// commit (or SOURCE_DATE_EPOCH), and nothing of the machine gets into them. It is a module of its own, so
// that the server's go.mod does not list what only a release needs.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"time"
)

// architectures of a release, by Go's names.
var architectures = []string{"amd64", "arm64"}

// release is one run.
type release struct {
	source string // clone of the repository
	out    string // folder of the finished files
	stage  string // folder of the files that go into archives, packages and the image
	wanted string // version that the program must have, "" is any

	programs map[string]*program // by architecture
	version  string              // as the program tells it, v1.2.3
	revision string              // the commit
	time     time.Time           // of the commit
	commands []command           // as the program's help lists them; the first is the server
	modules  []module            // that the program was built from
	own      []module            // the repository itself, if it has a licence
}

func main() {
	source := flag.String("source", "", "clean clone of the repository")
	out := flag.String("out", "", "new or empty folder for the files of the release")
	version := flag.String("version", "", "refuse a program that does not call itself so")
	flag.Parse()
	if err := run(*source, *out, *version); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(source, out, version string) (err error) {
	if err := emptyFolder(out); err != nil {
		return err
	}
	stage, err := os.MkdirTemp("", "release")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(stage)) }()
	r := &release{source: source, out: out, stage: stage, wanted: version, programs: map[string]*program{}}
	for _, step := range []struct {
		name string
		make func() error
	}{
		{"programs", r.build},
		{"help", r.readHelp},
		{"list of modules", r.findModules},
		{"documents", r.writeDocuments},
		{"archives", r.writeArchives},
		{"packages", r.writePackages},
		{"image", r.writeImage},
		{"checksums", r.writeChecksums},
	} {
		if err := step.make(); err != nil {
			return fmt.Errorf("cannot make the %s: %w", step.name, err)
		}
	}
	fmt.Printf("release %s is in %s\n", r.version, out)
	return nil
}

// emptyFolder makes the folder. One with files is refused: an old file would look like a part of the
// release.
func emptyFolder(path string) error {
	if err := os.MkdirAll(path, 0o755); err != nil {
		return err
	}
	entries, err := os.ReadDir(path)
	if err == nil && len(entries) > 0 {
		err = fmt.Errorf("%s is not empty: remove it, or name another folder", path)
	}
	return err
}
