package images

import (
	"bytes"
	"fmt"
	"image"
	"os"

	"golang.org/x/sys/unix"
)

// Limits of a logo as it is served: every buyer loads it before the foods.
const (
	logoSideMax  = 320 // pixels: three for each that a header shows
	logoBytesMax = 32 << 10
)

// Logo is the logo of a shop, ready to be sent.
type Logo struct {
	Type          string // media type
	Body          []byte
	Width, Height int // pixels
}

// ReadLogo reads a logo from a file, under the limits of all pictures. It is served in the largest size that
// the limits of a logo allow.
func ReadLogo(path string) (*Logo, error) {
	logo, err := readLogo(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read the logo %s: %w", path, err)
	}
	return logo, nil
}

func readLogo(path string) (*Logo, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0) // a pipe must not block the start
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if _, err := statRegular(file); err != nil {
		return nil, err
	}
	text, err := readAll(file, fileBytesMax)
	if err != nil {
		return nil, err
	}
	pictures, err := resize(text)
	if err != nil {
		return nil, err
	}
	for i := len(pictures) - 1; i >= 0; i-- {
		p := &pictures[i]
		if p.side > logoSideMax || len(p.Body) > logoBytesMax {
			continue
		}
		size, _, err := image.DecodeConfig(bytes.NewReader(p.Body))
		return &Logo{p.Type, p.Body, size.Width, size.Height}, err
	}
	return nil, fmt.Errorf("it takes %d bytes with %d pixels; at most %d: use a plainer one",
		len(pictures[0].Body), pictures[0].side, logoBytesMax)
}
