package blocklist

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"flashsale/internal/testkit"
)

func TestSourcesThatCannotBeUsed(t *testing.T) {
	for name, want := range map[string]string{
		"ftp://host/list":          "-blocklist ftp://host/list: it must be a file or an http or https URL",
		"http://":                  "-blocklist: the URL names no host",
		"https://u:secret@/x y":    "-blocklist: the URL names no host",
		"http://user:secret@ho st": `-blocklist is no URL: invalid character " " in host name`,
	} {
		if _, err := newSource(name); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
}

// A transfer goes on only in the list in which it began, also where the server ignores If-Range.
func TestRestOfAnotherListIsRefused(t *testing.T) {
	for name, rest := range map[string]struct {
		etag  string
		total int
		want  error
	}{
		"the same": {`"1"`, 0, nil}, "another version": {`"2"`, 0, errOtherVersion},
		"another length": {`"1"`, 1, errOtherVersion}, "no version": {"", 0, errOtherVersion},
	} {
		t.Run(name, func(t *testing.T) {
			body := pack(t, csv(documents(20_000)...))
			half := len(body) / 2
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Range") == "" {
					w.Header().Set("ETag", `"1"`)
					w.Header().Set("Content-Length", strconv.Itoa(len(body)))
					_, _ = w.Write(body[:half])
					_ = http.NewResponseController(w).Flush()
					panic(http.ErrAbortHandler)
				}
				if rest.etag != "" {
					w.Header().Set("ETag", rest.etag)
				}
				w.Header().Set("Content-Range",
					fmt.Sprintf("bytes %d-%d/%d", half, len(body)-1, len(body)+rest.total))
				w.WriteHeader(http.StatusPartialContent)
				_, _ = w.Write(body[half:])
			}))
			t.Cleanup(server.Close)
			if err := refresh(keeper(t, Config{Source: server.URL})); !errors.Is(err, rest.want) {
				t.Errorf("error %v, want %v", err, rest.want)
			}
		})
	}
}

// The first bytes of a list may come one by one.
func TestListMayBeginSlowly(t *testing.T) {
	body := pack(t, csv("1234,123456"))
	list := &packed{ReadCloser: io.NopCloser(iotest.OneByteReader(bytes.NewReader(body))), stop: func() {}}
	if got := keeper(t, Config{}).load(t.Context(), list, Info{}); got.err != nil || got.info.Stored != 1 {
		t.Errorf("%+v", got)
	}
}

// A source that goes on sending, but hardly anything, counts as broken, and at last the refresh fails.
func TestTrickleIsBroken(t *testing.T) {
	ended := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"1"`)
		if r.Method == http.MethodHead {
			return
		}
		from, status := 0, http.StatusOK
		if _, err := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &from); err == nil {
			status = http.StatusPartialContent
			w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-999999/1000000", from))
		}
		w.Header().Set("Content-Length", strconv.Itoa(1_000_000-from))
		w.WriteHeader(status)
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for r.Context().Err() == nil {
			_, _ = w.Write([]byte("B"))
			_ = http.NewResponseController(w).Flush()
			select {
			case <-tick.C:
			case <-ended:
				return
			}
		}
	}))
	t.Cleanup(func() { close(ended); server.Close() })
	k := keeper(t, Config{Source: server.URL})
	web := k.source.(*webSource)
	web.stallMax = 100 * time.Millisecond
	list, err := web.open(t.Context(), Version{})
	testkit.Must(t, err)
	defer list.Close()
	_, err = io.Copy(io.Discard, list)
	if err == nil || !strings.HasPrefix(err.Error(), "the transfer of the list breaks again and again") {
		t.Errorf("error %v", err)
	}
}
