package blocklist

import (
	"context"
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
	version Version
	bytes   int64  // -1 where the length is not known
	stop    func() // ends a Read that waits, from any goroutine
}

// newSource finds out what a flag names: a URL of HTTP, or a file.
func newSource(name string) (source, error) {
	if !strings.Contains(name, "://") {
		return fileSource(name), nil
	}
	address, err := url.Parse(name)
	if err != nil {
		return nil, fmt.Errorf("cannot use the blocklist's URL: %w", err)
	}
	if address.Scheme != "http" && address.Scheme != "https" || address.Host == "" {
		return nil, fmt.Errorf("cannot use %s: it must be a file or an http or https URL", address.Redacted())
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DialContext = (&net.Dialer{Timeout: dialMax}).DialContext
	transport.ResponseHeaderTimeout = answerMax
	transport.DisableCompression = true // the list is packed, and a range counts its bytes
	return &webSource{address: address, client: &http.Client{Transport: transport}, stallMax: stallMax,
		pauseMin: pauseMin, pauseMax: pauseMax}, nil
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
	version := Version{
		ETag:     fmt.Sprintf(`"%x-%x"`, stat.ModTime().UnixNano(), stat.Size()),
		Modified: stat.ModTime().UTC().Format(http.TimeFormat),
	}
	if version.same(known) {
		file.Close()
		return nil, errUnchanged
	}
	return &packed{file, version, stat.Size(), func() {}}, nil
}

// webSource is a URL. Tests shorten its times.
type webSource struct {
	address                      *url.URL
	client                       *http.Client
	stallMax, pauseMin, pauseMax time.Duration
}

func (s *webSource) String() string { return s.address.Redacted() }

// open asks with HEAD first, because some servers do not know conditional requests and would send all.
func (s *webSource) open(ctx context.Context, known Version) (*packed, error) {
	reply, err := s.ask(ctx, http.MethodHead, nil)
	if err != nil {
		return nil, err
	}
	reply.Body.Close()
	if reply.StatusCode == http.StatusOK && versionOf(reply).same(known) {
		return nil, errUnchanged
	}
	conditions := http.Header{}
	if known.ETag != "" {
		conditions.Set("If-None-Match", known.ETag)
	}
	if known.Modified != "" {
		conditions.Set("If-Modified-Since", known.Modified)
	}
	ctx, stop := context.WithCancel(ctx)
	t := &transfer{source: s, ctx: ctx}
	reply, err = t.request(conditions)
	if err != nil {
		stop()
		return nil, err
	}
	switch reply.StatusCode {
	case http.StatusOK:
		t.version, t.bytes = versionOf(reply), reply.ContentLength
		return &packed{t, t.version, t.bytes, stop}, nil
	case http.StatusNotModified:
		err = errUnchanged
	default:
		err = fmt.Errorf("%v answers %s", s, reply.Status)
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

func versionOf(reply *http.Response) Version {
	return Version{ETag: reply.Header.Get("ETag"), Modified: reply.Header.Get("Last-Modified")}
}
