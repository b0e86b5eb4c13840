//go:build race

package e2e

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"flashsale/internal/testkit"
)

// underRace are the tests with which all parts of a server work at once.
var underRace = []string{
	"TestUnderRace", "TestAllOrdersAreListed", "TestHangupReplacesWorkers", "TestKilledWorkerIsReplaced",
	"TestLiveOfTwoWorkers", "TestMetricsOutliveReplacedWorkers", "TestNextSaleIsTakenOver",
	"TestNothingIsOversold", "TestOneOrderPerUser", "TestTerminationAnswersWhatIsInFlight",
}

// With -short the race detector sees these tests alone. The others start hundreds of servers, one after the
// other, and look at what they say: that takes ten minutes more under the detector, which finds nothing new.
func TestMain(m *testing.M) {
	flag.Parse()
	if run := flag.Lookup("test.run"); testing.Short() && run.Value.String() == "" {
		if err := run.Value.Set("^(" + strings.Join(underRace, "|") + ")$"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

// The list has no test that is gone.
func TestUnderRace(t *testing.T) {
	files, err := filepath.Glob("*_test.go")
	testkit.Must(t, err)
	source := ""
	for _, file := range files {
		source += testkit.ReadFile(t, file)
	}
	for _, name := range underRace {
		if !strings.Contains(source, "\nfunc "+name+"(t *testing.T)") {
			t.Errorf("there is no %s", name)
		}
	}
}
