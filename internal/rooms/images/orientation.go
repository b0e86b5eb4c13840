package images

import (
	"bytes"
	"encoding/binary"
	"image"
)

// A camera writes a picture as it was held, and how to turn it: the tag Orientation of Exif 2.3, section
// 4.6.4.A. Its values are 1 to 8.
const (
	upright     = 1
	upsideDown  = 3
	onItsSide   = 5 // from here on, width and height change places
	orientedMax = 8

	orientationTag = 0x0112
)

// orientation reads the tag of a JPEG file; upright if there is none, or if it cannot be read.
func orientation(file []byte) int {
	const picture, exif = 0xda, 0xe1 // marks of segments
	for rest := file[min(2, len(file)):]; len(rest) >= 4 && rest[0] == 0xff && rest[1] != picture; {
		length := int(binary.BigEndian.Uint16(rest[2:]))
		if length < 2 || length+2 > len(rest) {
			return upright
		}
		if tiff, found := bytes.CutPrefix(rest[4:length+2], []byte("Exif\x00\x00")); found && rest[1] == exif {
			return exifOrientation(tiff)
		}
		rest = rest[length+2:]
	}
	return upright
}

// exifOrientation looks for the tag in the first directory of a TIFF.
func exifOrientation(tiff []byte) int {
	const headerBytes, entryBytes = 8, 12
	if len(tiff) < headerBytes {
		return upright
	}
	var order binary.ByteOrder = binary.BigEndian
	if tiff[0] == 'I' {
		order = binary.LittleEndian
	}
	start := uint64(order.Uint32(tiff[4:]))
	if start+2 > uint64(len(tiff)) {
		return upright
	}
	entries := tiff[start+2:]
	for range order.Uint16(tiff[start:]) {
		if len(entries) < entryBytes {
			return upright
		}
		if value := int(order.Uint16(entries[8:])); order.Uint16(entries) == orientationTag &&
			value >= upright && value <= orientedMax {
			return value
		}
		entries = entries[entryBytes:]
	}
	return upright
}

// turned returns a picture as it was seen.
func turned(m *image.RGBA, orientation int) *image.RGBA {
	w, h := m.Bounds().Dx(), m.Bounds().Dy()
	seen := image.NewRGBA(image.Rect(0, 0, w, h))
	if orientation >= onItsSide {
		seen = image.NewRGBA(image.Rect(0, 0, h, w))
	}
	for y := range h {
		for x := range w {
			toX, toY := x, y
			switch orientation {
			case 2:
				toX = w - 1 - x
			case upsideDown:
				toX, toY = w-1-x, h-1-y
			case 4:
				toY = h - 1 - y
			case onItsSide:
				toX, toY = y, x
			case 6:
				toX, toY = h-1-y, x
			case 7:
				toX, toY = h-1-y, w-1-x
			case orientedMax:
				toX, toY = y, w-1-x
			}
			seen.SetRGBA(toX, toY, m.RGBAAt(x, y))
		}
	}
	return seen
}
