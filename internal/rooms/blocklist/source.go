package blocklist

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

const (
	dialMax   = 10 * time.Second // to connect
	answerMax = 30 * time.Second // from a request to its status
)

// errUnchanged is the outcome of opening a source that still has the version that is known.
var errUnchanged = errors.New("the source has not changed")

// A source is where the list comes from.
type source interface {
	// String names it, without a password.
	String() string
	// open begins to read the packed list, unless it still has the known version: then the error is
	// errUnchanged.
	open(ctx context.Context, known Version) (*packed, error)
}

// packed is a list as its source sends it.
type packed struct {
	io.ReadCloser
	version  Version
	answered time.Time // when the source began to send it
	bytes    int64     // -1 where the length is not known
	stop     func()    // ends a Read that waits, from any goroutine
}

// newSource finds out what a flag names: a URL of HTTP, or a file.
func newSource(name string) (source, error) {
	if !strings.Contains(name, "://") {
		return fileSource(name), nil
	}
	address, err := url.Parse(name)
	var fault *url.Error
	switch {
	case errors.As(err, &fault):
		return nil, fmt.Errorf("-blocklist is no URL: %w", fault.Err) // the rest may hold a password
	case err != nil:
		return nil, fmt.Errorf("-blocklist is no URL: %w", err)
	case address.Scheme != "http" && address.Scheme != "https":
		return nil, fmt.Errorf("-blocklist %s: it must be a file or an http or https URL", address.Redacted())
	case address.Host == "":
		return nil, errors.New("-blocklist: the URL names no host")
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DialContext = (&net.Dialer{Timeout: dialMax}).DialContext
	transport.ResponseHeaderTimeout = answerMax
	transport.DisableCompression = true // the list is packed, and a range counts its bytes
	hash := sha256.Sum256([]byte(name))
	return &webSource{address: address, hash: hex.EncodeToString(hash[:]),
		client:   &http.Client{Transport: transport},
		stallMax: stallMax, pauseMin: pauseMin, pauseMax: pauseMax}, nil
}

// fileSource is the path of a file.
type fileSource string

func (f fileSource) String() string { return string(f) }

func (f fileSource) open(_ context.Context, known Version) (*packed, error) {
	file, err := os.Open(string(f))
	if err != nil {
		return nil, fmt.Errorf("cannot read the list: %w", err)
	}
	stat, err := file.Stat()
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("cannot read the list: %w", err)
	}
	if stat.IsDir() {
		file.Close()
		return nil, fmt.Errorf("cannot read the list: %s is a folder", string(f))
	}
	version := Version{
		ETag:     fmt.Sprintf(`"%x-%x"`, stat.ModTime().UnixNano(), stat.Size()),
		Modified: stat.ModTime().UTC().Format(http.TimeFormat),
	}
	if version.same(known) {
		file.Close()
		return nil, errUnchanged
	}
	return &packed{file, version, time.Now(), stat.Size(), func() {}}, nil
}

// webSource is a URL. Tests shorten its times.
type webSource struct {
	address                      *url.URL
	hash                         string // of the URL
	client                       *http.Client
	stallMax, pauseMin, pauseMax time.Duration
}

func (s *webSource) String() string { return s.address.Redacted() }

// open asks with HEAD first, and compares versions itself: some servers do not know conditional requests and
// would send all.
func (s *webSource) open(ctx context.Context, known Version) (*packed, error) {
	reply, err := s.ask(ctx, http.MethodHead, nil)
	if err != nil {
		return nil, err
	}
	reply.Body.Close()
	if reply.StatusCode == http.StatusOK && s.version(reply).same(known) {
		return nil, errUnchanged
	}
	ctx, stop := context.WithCancel(ctx)
	t := &transfer{source: s, ctx: ctx}
	reply, err = t.request(nil)
	switch {
	case err != nil:
	case reply.StatusCode != http.StatusOK:
		err = fmt.Errorf("%v answers %s", s, reply.Status)
	case s.version(reply).same(known): // HEAD did not tell
		err = errUnchanged
	default:
		t.version, t.bytes = s.version(reply), reply.ContentLength
		return &packed{t, t.version, time.Now(), t.bytes, stop}, nil
	}
	t.Close()
	stop()
	return nil, err
}

// ask sends a request and returns its reply.
func (s *webSource) ask(ctx context.Context, method string, header http.Header) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, s.address.String(), nil)
	if err != nil {
		return nil, fmt.Errorf("cannot ask %v: %w", s, err)
	}
	for name := range header {
		request.Header.Set(name, header.Get(name))
	}
	reply, err := s.client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("cannot reach the list: %w", err) // the URL is in it, without a password
	}
	return reply, nil
}

func (s *webSource) version(reply *http.Response) Version {
	return Version{URL: s.hash, ETag: reply.Header.Get("ETag"), Modified: reply.Header.Get("Last-Modified")}
}
