// Package images has the pictures of foods, in sizes for phones and for large screens.
//
// The supervisor makes them before the workers start (Make): it reads the files of -images that foods name,
// and writes all sizes into one file in the data folder. Pictures that have not changed are taken from the
// file of the last start. The workers map that file and share its memory. They never open the folder: a
// request can only name what is in the file.
//
// Make is slow: a photograph takes some tenths of a second. The pictures of the trial sale are drawn by the
// worker that is asked for them, once.
package images

import (
	"fmt"
	"log/slog"
	"sync"
)

// Limits of the pictures.
const (
	fileBytesMax = 10 << 20 // of a file in the folder
	pixelsMax    = 32 << 20 // of a picture: a decoded one takes 4 bytes for each
	sideMax      = 16384    // pixels
	packBytesMax = 512 << 20
	filesMax     = 10_000
)

// sizes are the lengths of the longer side in which pictures are served, in pixels. A smaller picture is
// served as large as it is.
var sizes = []int{160, 320, 640, 1280}

// Picture is a picture in one size, ready to be sent.
type Picture struct {
	Type string // media type
	ETag string // strong
	Body []byte
	side int // the longer one, pixels
}

// Set is the pictures by file name. It is safe for concurrent use.
type Set struct {
	files map[string][]Picture         // each from the smallest to the largest
	drawn map[string][]func() *Picture // of a trial sale, as drawnSizes
}

// drawnSizes are the sizes in which pictures are drawn.
var drawnSizes = sizes[:3]

// Find returns the smallest picture of that name with a longer side of at least size pixels, or the largest;
// nil without one.
func (s *Set) Find(name string, size int) *Picture {
	for i, draw := range s.drawn[name] {
		if drawnSizes[i] >= size || i == len(drawnSizes)-1 {
			return draw()
		}
	}
	list := s.files[name]
	for i := range list {
		if list[i].side >= size || i == len(list)-1 {
			return &list[i]
		}
	}
	return nil
}

// Trial returns the drawn pictures, named by nameOf from a dish and a style.
func Trial(nameOf func(dish, style int) string) *Set {
	s := &Set{drawn: map[string][]func() *Picture{}}
	for dish := range dishDrawings {
		for style := range styleColors {
			for _, size := range drawnSizes {
				name := nameOf(dish, style)
				s.drawn[name] = append(s.drawn[name], sync.OnceValue(func() *Picture {
					body, err := drawDish(dish, style, size)
					if err != nil {
						slog.Error("cannot draw a picture", "dish", dish, "style", style, "error", err)
						return nil
					}
					return &Picture{Type: typeJPEG, ETag: tagOf(body), Body: body, side: size}
				}))
			}
		}
	}
	return s
}

// Wanted is a file that a food names as its picture, and where it does.
type Wanted struct{ File, At string }

// at adds to an error where the picture is named.
func (w Wanted) at(err error) error { return fmt.Errorf("%s: image %q: %w", w.At, w.File, err) }
