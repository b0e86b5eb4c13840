package e2e

import (
	"flag"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"flashsale/internal/testkit"
)

// parallel is how many tests run at once at least: most of them wait for their servers most of the time.
const parallel = 6

// underRace are the tests with which all parts of a server work at once. With -short the race detector sees
// these alone: the others start hundreds of servers and look at what they say, which takes ten minutes more
// under the detector, and it finds nothing new.
var underRace = []string{
	"TestUnderRace", "TestHangupReplacesWorkers", "TestLiveOfTwoWorkers", "TestMetricsOutliveReplacedWorkers",
	"TestNextSaleIsTakenOver", "TestNothingIsOversold", "TestTerminationAnswersWhatIsInFlight",
	"TestWorkerStartsWithoutRedis",
}

func TestMain(m *testing.M) {
	flag.Parse()
	set := func(name, value string) { // unless the command line has another value
		if f := flag.Lookup("test." + name); f.Value.String() == f.DefValue {
			_ = f.Value.Set(value) // which both flags take
		}
	}
	if runtime.GOMAXPROCS(0) < parallel {
		set("parallel", strconv.Itoa(parallel))
	}
	if testkit.Race && testing.Short() {
		set("run", "^("+strings.Join(underRace, "|")+")$")
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
