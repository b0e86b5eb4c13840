package images

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"flashsale/internal/testkit"
)

// half is a picture whose left half is red and whose right half is blue, as file in a format.
func half(t *testing.T, format string, w, h int) []byte {
	t.Helper()
	m := image.NewNRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			m.Set(x, y, color.NRGBA{R: 255, A: 255})
			if x >= w/2 {
				m.Set(x, y, color.NRGBA{B: 255, A: 255})
			}
		}
	}
	var b bytes.Buffer
	var err error
	switch format {
	case "jpeg":
		err = jpeg.Encode(&b, m, nil)
	case "gif":
		err = gif.Encode(&b, m, nil)
	case "alpha":
		m.Set(0, 0, color.NRGBA{A: 0})
		fallthrough
	default:
		err = png.Encode(&b, m)
	}
	testkit.Must(t, err)
	return b.Bytes()
}

// webp is a picture of one pixel.
var webp = []byte("RIFF\x1a\x00\x00\x00WEBPVP8L" +
	"\x0d\x00\x00\x00/\x00\x00\x00\x10\x07\x10\x11\x11\x88\x88\xfe\x07\x00")

// withOrientation puts the tag of a camera into a JPEG.
func withOrientation(file []byte, value uint16, order binary.AppendByteOrder) []byte {
	exif := []byte("Exif\x00\x00II*\x00")
	if order == binary.AppendByteOrder(binary.BigEndian) {
		exif = []byte("Exif\x00\x00MM\x00*")
	}
	exif = order.AppendUint32(exif, 8)
	exif = order.AppendUint16(exif, 1)
	exif = order.AppendUint16(exif, orientationTag)
	exif = order.AppendUint32(order.AppendUint16(exif, 3), 1)
	exif = order.AppendUint16(order.AppendUint16(exif, value), 0)
	segment := binary.BigEndian.AppendUint16([]byte{0xff, 0xe1}, uint16(len(exif)+2))
	return append(append(append(bytes.Clone(file[:2]), segment...), exif...), file[2:]...)
}

// Each format is served in the sizes that it is large enough for, as JPEG unless something shines through.
func TestResize(t *testing.T) {
	for _, test := range []struct {
		name, kind string
		file       []byte
		want       []image.Point
	}{
		{"jpeg", typeJPEG, half(t, "jpeg", 2000, 1000),
			[]image.Point{{160, 80}, {320, 160}, {640, 320}, {1280, 640}}},
		{"png, upright", typeJPEG, half(t, "png", 400, 500), []image.Point{{128, 160}, {256, 320}, {400, 500}}},
		{"png that shines through", typePNG, half(t, "alpha", 320, 10), []image.Point{{160, 5}, {320, 10}}},
		{"gif", typeJPEG, half(t, "gif", 161, 20), []image.Point{{160, 19}, {161, 20}}},
		{"small", typeJPEG, half(t, "png", 3, 2), []image.Point{{3, 2}}},
		{"thin", typeJPEG, half(t, "png", 5000, 2), []image.Point{{160, 1}, {320, 1}, {640, 1}, {1280, 1}}},
		{"webp", typePNG, webp, []image.Point{{1, 1}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			pictures, err := resize(test.file)
			testkit.Must(t, err)
			if len(pictures) != len(test.want) {
				t.Fatalf("%d sizes, want %v", len(pictures), test.want)
			}
			for i, p := range pictures {
				m, _, err := image.Decode(bytes.NewReader(p.Body))
				if size := m.Bounds().Size(); err != nil || size != test.want[i] || p.Type != test.kind ||
					p.side != longer(m) || p.ETag != tagOf(p.Body) {
					t.Errorf("size %d: %s of %v, %v, want %s of %v", i, p.Type, size, err, test.kind, test.want[i])
				}
			}
		})
	}
}

// A picture is served as the camera saw it: where its left, red half is then.
func TestOrientation(t *testing.T) {
	file := half(t, "jpeg", 64, 32)
	for value, red := range map[uint16]image.Point{1: {0, 16}, 2: {63, 16}, 3: {63, 16}, 4: {0, 16}, 5: {16, 0},
		6: {16, 0}, 7: {16, 63}, 8: {16, 63}, 0: {0, 16}, 9: {0, 16}} {
		for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
			pictures, err := resize(withOrientation(file, value, order))
			testkit.Must(t, err)
			m, err := jpeg.Decode(bytes.NewReader(pictures[0].Body))
			testkit.Must(t, err)
			if r, _, b, _ := m.At(red.X, red.Y).RGBA(); r < b || longer(m) != 64 {
				t.Errorf("orientation %d, %v: not red at %v of %v", value, order, red, m.Bounds())
			}
		}
	}
}

// fixCRC makes the checksum of a PNG's head right.
func fixCRC(file []byte) []byte {
	binary.BigEndian.PutUint32(file[29:], crc32.ChecksumIEEE(file[12:29]))
	return file
}

func TestResizeRefusals(t *testing.T) {
	whole := half(t, "png", 100, 100)
	large := bytes.Clone(whole)
	binary.BigEndian.PutUint32(large[16:], 16385)
	for name, test := range map[string]struct {
		file []byte
		want string
	}{
		"svg": {[]byte(`<svg xmlns="http://www.w3.org/2000/svg"/>`),
			"it is no JPEG, PNG, WebP or GIF picture (SVG"},
		"empty":     {nil, "it is no JPEG"},
		"cut off":   {whole[:len(whole)-30], "it is broken, save it again: "},
		"head only": {whole[:20], "it is broken, save it again: "},
		"too wide": {fixCRC(large),
			"it has 16385 x 100 pixels; make it smaller: at most 33554432 in all, 16384 each side"},
	} {
		if _, err := resize(test.file); err == nil || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("%s: %v, want %s", name, err, test.want)
		}
	}
}

// files writes files into a new folder.
func files(t *testing.T, list map[string][]byte) (folder string) {
	t.Helper()
	folder = t.TempDir()
	for name, text := range list {
		testkit.Must(t, os.WriteFile(filepath.Join(folder, name), text, 0o600))
	}
	return folder
}

// What has not changed is not made again, what has is, and a request gets the size that it asks for.
func TestMake(t *testing.T) {
	folder := files(t, map[string][]byte{"a.png": half(t, "png", 700, 70), "b.jpg": half(t, "jpeg", 90, 90)})
	path := filepath.Join(t.TempDir(), "images")
	wanted := []Wanted{{"a.png", "foods.csv:2"}, {"b.jpg", "foods.csv:3"}}
	makes := func(want int, wanted ...Wanted) *Set {
		t.Helper()
		r, err := Make(t.Context(), folder, wanted, path)
		if err != nil || r.Made != want || r.Pictures != len(wanted) {
			t.Fatalf("%+v, %v, want %d made", r, err, want)
		}
		s, err := Open(path)
		testkit.Must(t, err)
		return s
	}
	s := makes(2, wanted...)
	for _, test := range []struct {
		name       string
		size, side int
	}{{"a.png", 0, 160}, {"a.png", 160, 160}, {"a.png", 161, 320}, {"a.png", 640, 640}, {"a.png", 641, 700},
		{"a.png", 9999, 700}, {"b.jpg", 320, 90}} {
		if p := s.Find(test.name, test.size); p == nil || p.side != test.side {
			t.Errorf("%s of size %d: %+v, want one of %d", test.name, test.size, p, test.side)
		}
	}
	for _, name := range []string{"", "c.png", "../a.png", "a.png/", "images"} {
		if s.Find(name, 1) != nil {
			t.Errorf("there is a picture %q", name)
		}
	}
	before := s.Find("b.jpg", 1).ETag
	makes(0, wanted...)
	testkit.Must(t, os.WriteFile(filepath.Join(folder, "b.jpg"), half(t, "jpeg", 91, 91), 0o600))
	if s = makes(1, wanted...); s.Find("b.jpg", 1).ETag == before {
		t.Error("another picture has the same tag")
	}
	if s = makes(0, wanted[0]); s.Find("b.jpg", 1) != nil || s.Find("a.png", 1) == nil {
		t.Error("what no food names any more is still there")
	}
	testkit.Must(t, os.WriteFile(path, []byte("flashimg\xff\xff\xff\xff"), 0o600))
	makes(2, wanted...)
	makes(0) // a folder without a picture that a food names
	testkit.Must(t, os.Remove(path))
	makes(0)
}

// A fault says which food names the picture, and leaves the pictures that are there.
func TestMakeRefusals(t *testing.T) {
	folder := files(t, map[string][]byte{"good.png": half(t, "png", 9, 9), "bad.svg": []byte("<svg/>"),
		"large.png": make([]byte, fileBytesMax+1)})
	outside := files(t, map[string][]byte{"secret.png": half(t, "png", 9, 9)})
	testkit.Must(t, os.Symlink(filepath.Join(outside, "secret.png"), filepath.Join(folder, "link.png")))
	testkit.Must(t, os.Mkdir(filepath.Join(folder, "folder"), 0o700))
	path := filepath.Join(t.TempDir(), "images")
	_, err := Make(t.Context(), folder, []Wanted{{"good.png", "foods.csv:2"}}, path)
	testkit.Must(t, err)
	for name, want := range map[string]string{
		"missing.png": "there is no such file in the folder of -images; add it, or name no image",
		"bad.svg":     errNoPicture.Error(),
		"large.png":   "it has more than 10485760 bytes; make it smaller",
		"link.png":    "openat link.png: path escapes from parent",
		"folder":      "it is no regular file; name a picture",
	} {
		_, err := Make(t.Context(), folder, []Wanted{{"good.png", "foods.csv:2"}, {name, "foods.csv:7"}}, path)
		if want = fmt.Sprintf("foods.csv:7: image %q: %s", name, want); err == nil || err.Error() != want {
			t.Errorf("error %v\n want %s", err, want)
		}
	}
	if s, err := Open(path); err != nil || s.Find("good.png", 1) == nil {
		t.Errorf("the good picture is gone: %v", err)
	}
	if _, err := Make(t.Context(), filepath.Join(folder, "none"), nil, path); err == nil ||
		!strings.HasPrefix(err.Error(), "cannot read -images: ") {
		t.Errorf("without the folder: %v", err)
	}
	_, err = Make(t.Context(), folder, make([]Wanted, filesMax+1), path)
	if want := `: image "": more than 10000 pictures; name fewer`; err == nil || err.Error() != want {
		t.Errorf("too many: %v", err)
	}
}

// A logo is as large as its limits allow.
func TestReadLogo(t *testing.T) {
	folder := files(t, map[string][]byte{"wide.png": half(t, "alpha", 900, 300),
		"small.jpg": half(t, "jpeg", 9, 20), "noise.png": noise(t, 320, 80), "too-much.png": noise(t, 160, 160),
		"bad.svg": []byte("<svg/>"), "large.png": make([]byte, fileBytesMax+1)})
	for name, want := range map[string]Logo{
		"wide.png":  {Type: typePNG, Width: 320, Height: 106},
		"small.jpg": {Type: typeJPEG, Width: 9, Height: 20},
		"noise.png": {Type: typePNG, Width: 160, Height: 40},
	} {
		logo, err := ReadLogo(filepath.Join(folder, name))
		testkit.Must(t, err)
		if n := len(logo.Body); n == 0 || n > logoBytesMax {
			t.Errorf("%s: %d bytes", name, n)
		}
		if logo.Body = nil; !reflect.DeepEqual(*logo, want) {
			t.Errorf("%s: %+v, want %+v", name, *logo, want)
		}
	}
	for name, want := range map[string]string{
		"none.png":     "no such file or directory",
		"":             "it is no regular file; name a picture",
		"bad.svg":      errNoPicture.Error(),
		"large.png":    "it has more than 10485760 bytes; make it smaller",
		"too-much.png": "at most 32768: use a plainer one",
	} {
		path := filepath.Join(folder, name)
		_, err := ReadLogo(path)
		if err == nil || !strings.HasPrefix(err.Error(), "cannot read the logo "+path+": ") ||
			!strings.HasSuffix(err.Error(), want) {
			t.Errorf("error %v\n want %s", err, want)
		}
	}
}

// noise is a picture that shines through and does not compress.
func noise(t *testing.T, w, h int) []byte {
	t.Helper()
	m := image.NewNRGBA(image.Rect(0, 0, w, h))
	random := rand.NewPCG(1, 2)
	for i := range m.Pix {
		m.Pix[i] = byte(random.Uint64())
	}
	var b bytes.Buffer
	testkit.Must(t, png.Encode(&b, m))
	return b.Bytes()
}

// Each picture of the trial sale is another one, and always the same.
func TestTrial(t *testing.T) {
	nameOf := func(dish, style int) string { return fmt.Sprint(dish, "-", style) }
	first, second := Trial(nameOf), Trial(nameOf)
	seen := map[string]string{}
	for name := range first.drawn {
		if testing.Short() && len(seen) > 10 {
			break
		}
		p := first.Find(name, 320)
		if p == nil || p.Type != typeJPEG || len(p.Body) > 25_000 || p.side != 320 {
			t.Fatalf("%s: %+v", name, p)
		}
		if seen[p.ETag] != "" {
			t.Errorf("%s is drawn like %s", name, seen[p.ETag])
		}
		seen[p.ETag] = name
	}
	for size, side := range map[int]int{1: 160, 161: 320, 640: 640, 9999: 640} {
		m, format, err := image.Decode(bytes.NewReader(first.Find("3-7", size).Body))
		if err != nil || format != "jpeg" || m.Bounds().Dx() != side || m.Bounds().Dy() != side {
			t.Errorf("size %d: %v, %v", size, m.Bounds(), err)
		}
	}
	const again = "3-7"
	if p := second.Find(again, 1); p == nil || p.ETag != first.Find(again, 1).ETag {
		t.Error("a picture is drawn otherwise the second time")
	}
}

// FuzzPack and FuzzOrientation hold the readers to: no panic, and only bytes of the text.
func FuzzPack(f *testing.F) {
	path := filepath.Join(f.TempDir(), "images")
	testkit.Must(f, writePack(path, []made{{name: "a", stamp: stamp{1, time.Now().UnixNano(), version},
		pictures: []Picture{{typeJPEG, `"x"`, []byte("body"), 160}}}}))
	text, err := os.ReadFile(path)
	testkit.Must(f, err)
	f.Add(text)
	f.Add(bytes.Replace(text, []byte(`"Bytes":4`), []byte(`"Bytes":5`), 1))
	f.Add(bytes.Replace(text, []byte(`"From":0`), []byte(`"From":9`), 1))
	f.Fuzz(func(t *testing.T, text []byte) {
		list, err := readPack(text)
		for _, file := range list {
			for _, p := range file.pictures {
				if err != nil || len(p.Body) > len(text) {
					t.Errorf("%d bytes of %d, %v", len(p.Body), len(text), err)
				}
			}
		}
	})
}

func FuzzOrientation(f *testing.F) {
	f.Add(withOrientation([]byte{0xff, 0xd8, 0xff, 0xda, 0, 2}, 6, binary.BigEndian))
	f.Add(withOrientation([]byte{0xff, 0xd8}, 3, binary.LittleEndian))
	f.Fuzz(func(t *testing.T, file []byte) {
		if value := orientation(file); value < upright || value > orientedMax {
			t.Errorf("orientation %d", value)
		}
	})
}
