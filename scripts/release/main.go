// Release makes the parts of a release that scripts/release.sh cannot make with Debian's tools: documents
// from the program's help, the list of its libraries with their licences, an image. It is a module of its
// own, so that the server's go.mod does not list the libraries for a release.
//
//	release documents STAGE SOURCE VERSION REVISION
//	release image FOLDER VERSION REVISION BASE ARCHITECTURE=LAYER...
//
// SOURCE_DATE_EPOCH is the time in all files. STAGE has the programs, as ARCHITECTURE/flashsale.
package main

import (
	"fmt"
	"os"
	"strconv"
	"time"
)

// architectures of a release, by Go's names.
var architectures = []string{"amd64", "arm64"}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	seconds, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64)
	if err != nil {
		return fmt.Errorf("SOURCE_DATE_EPOCH: %w", err)
	}
	at := time.Unix(seconds, 0).UTC()
	switch {
	case len(args) == 5 && args[0] == "documents":
		return writeDocuments(args[1], args[2], args[3], args[4], at)
	case len(args) > 5 && args[0] == "image":
		return writeImage(args[1], args[2], args[3], args[4], args[5:], at)
	}
	return fmt.Errorf("bad arguments %q", args)
}
