package redistest

import (
	"os"
	"os/exec"
	"testing"

	"flashsale/internal/testkit"
)

// inner makes this test binary a process of tests that use the shared server.
const inner = "REDISTEST_INNER"

func TestSharedServer(t *testing.T) {
	if s := Start(t); s.Do(t, "SET k v") != "+OK" || Start(t).Do(t, "DBSIZE") != ":0" {
		t.Error("the shared server is not flushed")
	}
	if os.Getenv(inner) == "killed" {
		os.Stdout.WriteString("started\n")
		select {}
	}
}

// The folder of the shared server goes with the process, also when that is killed.
func TestFoldersAreRemoved(t *testing.T) {
	testkit.Need(t, "redis-server")
	for _, end := range []string{"ends", "killed"} {
		dir := t.TempDir()
		cmd := exec.Command(os.Args[0], "-test.run=^TestSharedServer$")
		cmd.Env = append(os.Environ(), "TMPDIR="+dir, inner+"="+end)
		output, err := cmd.StdoutPipe()
		testkit.Must(t, err)
		testkit.Must(t, cmd.Start())
		if _, err := output.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		if end == "killed" {
			if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
				t.Errorf("the folder holds %v, %v; want that of the server", entries, err)
			}
			cmd.Process.Kill()
		}
		cmd.Wait() // the outcome is in the folder
		testkit.Until(t, "removal of the folder after a process that "+end, func() bool {
			entries, err := os.ReadDir(dir)
			testkit.Must(t, err)
			return len(entries) == 0
		})
	}
}
