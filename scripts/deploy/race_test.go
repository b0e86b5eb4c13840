//go:build race

package deploy

import (
	"flag"
	"fmt"
	"os"
	"testing"
)

// With -short the race detector sees none of these tests: they start proxies, service managers and servers,
// and look at what these say. Servers under the detector are in internal/e2e.
func TestMain(m *testing.M) {
	flag.Parse()
	if testing.Short() {
		fmt.Println("skipped: other programs, which the race detector does not see")
		os.Exit(0)
	}
	os.Exit(m.Run())
}
