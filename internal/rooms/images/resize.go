package images

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"image"
	_ "image/gif" // a format to read
	"image/jpeg"
	"image/png"

	"golang.org/x/image/draw"
	_ "golang.org/x/image/webp" // a format to read
)

const (
	typeJPEG, typePNG = "image/jpeg", "image/png"
	quality           = 82 // of JPEG
)

var errNoPicture = errors.New("it is no JPEG, PNG, WebP or GIF picture (SVG is refused, because it can " +
	"hold scripts); save it as one of these")

// resize makes all sizes of a picture. What cameras write beside it, such as the place, is left out; an
// animation becomes its first picture.
func resize(file []byte) (pictures []Picture, err error) {
	config, format, err := image.DecodeConfig(bytes.NewReader(file))
	if errors.Is(err, image.ErrFormat) {
		return nil, errNoPicture
	}
	if err != nil {
		return nil, fmt.Errorf("it is broken, save it again: %w", err)
	}
	if w, h := config.Width, config.Height; w < 1 || h < 1 || w > sideMax || h > sideMax || w*h > pixelsMax {
		return nil, fmt.Errorf("it has %d x %d pixels; make it smaller: at most %d in all, %d each side", w, h,
			pixelsMax, sideMax)
	}
	full, _, err := image.Decode(bytes.NewReader(file))
	if err != nil {
		return nil, fmt.Errorf("it is broken, save it again: %w", err)
	}
	turn := upright
	if format == "jpeg" {
		turn = orientation(file)
	}
	var source image.Image = full
	for i := len(sizes) - 1; i >= 0; i-- { // each from the one before, which is smaller than the file
		side := sizes[i]
		if longer(source) <= side && i > 0 && longer(source) <= sizes[i-1] {
			continue // the picture is not so large
		}
		scaled := scale(source, side)
		if turn != upright {
			scaled, turn = turned(scaled, turn), upright
		}
		picture, err := encode(scaled)
		if err != nil {
			return nil, err
		}
		pictures = append([]Picture{picture}, pictures...)
		source = scaled
	}
	return pictures, nil
}

func longer(m image.Image) int { return max(m.Bounds().Dx(), m.Bounds().Dy()) }

// scale returns the picture with a longer side of at most side pixels.
func scale(m image.Image, side int) *image.RGBA {
	w, h := m.Bounds().Dx(), m.Bounds().Dy()
	if long := max(w, h); long > side {
		w, h = max(w*side/long, 1), max(h*side/long, 1)
	}
	scaled := image.NewRGBA(image.Rect(0, 0, w, h))
	draw.CatmullRom.Scale(scaled, scaled.Bounds(), m, m.Bounds(), draw.Src, nil)
	return scaled
}

// encode writes a picture: as PNG only if something shines through.
func encode(m *image.RGBA) (p Picture, err error) {
	var b bytes.Buffer
	p.Type, p.side = typeJPEG, longer(m)
	if m.Opaque() {
		err = jpeg.Encode(&b, m, &jpeg.Options{Quality: quality})
	} else {
		p.Type = typePNG
		encoder := png.Encoder{CompressionLevel: png.BestCompression}
		err = encoder.Encode(&b, m)
	}
	p.Body = b.Bytes()
	p.ETag = tagOf(p.Body)
	return p, err
}

// tagOf is a strong entity tag.
func tagOf(body []byte) string {
	const tagBytes = 16
	sum := sha256.Sum256(body)
	return `"` + hex.EncodeToString(sum[:tagBytes]) + `"`
}
