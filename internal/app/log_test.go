package app

import (
	"bytes"
	"encoding/json"
	"os"
	"regexp"
	"testing"

	"flashsale/internal/config"
	"flashsale/internal/supervise"
)

func TestLogText(t *testing.T) {
	var out bytes.Buffer
	newLog(&out, config.LogText, nil).Warn("two words", "error", os.ErrClosed)
	want := regexp.MustCompile(`^time=\S+ level=WARN msg="two words" error="file already closed"\n$`)
	if !want.MatchString(out.String()) {
		t.Errorf("%q does not match %s", out.String(), want)
	}
}

func TestLogJSONOfAWorker(t *testing.T) {
	var out bytes.Buffer
	newLog(&out, config.LogJSON, &supervise.Worker{Slot: 3}).Info("ready", "users", 7)
	var line struct {
		Level, Msg         string
		Worker, PID, Users int
	}
	if err := json.Unmarshal(out.Bytes(), &line); err != nil {
		t.Fatal(err)
	}
	if line.Level != "INFO" || line.Msg != "ready" || line.Worker != 3 || line.PID != os.Getpid() ||
		line.Users != 7 {
		t.Errorf("%s is read as %+v", out.Bytes(), line)
	}
}
