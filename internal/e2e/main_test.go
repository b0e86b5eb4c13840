package e2e

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"flashsale/internal/testkit"
)

// underRace are the tests with which all parts of a server work at once. With -short the race detector sees
// these alone: the others start hundreds of servers and look at what they say, which takes ten minutes more
// under the detector, and it finds nothing new.
var underRace = []string{
	"TestUnderRace", "TestHangupReplacesWorkers", "TestLiveOfTwoWorkers", "TestMetricsOutliveReplacedWorkers",
	"TestNextSaleIsTakenOver", "TestNothingIsOversold", "TestTerminationAnswersWhatIsInFlight",
	"TestWorkerStartsWithoutRedis",
}

func TestMain(m *testing.M) {
	testkit.AtOnce(6)
	run := flag.Lookup("test.run")
	if testkit.Race && testing.Short() && run.Value.String() == run.DefValue {
		_ = run.Value.Set("^(" + strings.Join(underRace, "|") + ")$") // which the flag takes
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
