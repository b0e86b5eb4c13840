package images

import (
	"image"
	"image/color"
	"image/draw"
	"math"
	"math/rand/v2"

	"golang.org/x/image/vector"
)

// canvas is a picture that is being drawn, with smooth edges. Its side has drawnSide units, of so many
// pixels each; angles are in radians.
type canvas struct {
	*image.RGBA
	unit   float64
	random *rand.Rand
}

func newCanvas(pixels int, ground color.Color, seed uint64) *canvas {
	c := &canvas{image.NewRGBA(image.Rect(0, 0, pixels, pixels)), float64(pixels) / drawnSide,
		rand.New(rand.NewPCG(seed, seed))}
	draw.Draw(c.RGBA, c.Bounds(), image.NewUniform(ground), image.Point{}, draw.Src)
	return c
}

// point is a place on a canvas.
type point struct{ x, y float64 }

// towards is the point at a distance in a direction.
func (p point) towards(angle, distance float64) point {
	return point{p.x + distance*math.Cos(angle), p.y + distance*math.Sin(angle)}
}

// fill fills a polygon.
func (c *canvas) fill(paint color.Color, polygon []point) {
	low, high := polygon[0], polygon[0]
	for _, p := range polygon {
		low = point{min(low.x, p.x), min(low.y, p.y)}
		high = point{max(high.x, p.x), max(high.y, p.y)}
	}
	floor := func(length float64) int { return int(math.Floor(length * c.unit)) }
	box := image.Rect(floor(low.x), floor(low.y), floor(high.x)+1, floor(high.y)+1).Intersect(c.Bounds())
	if box.Empty() {
		return
	}
	r := vector.NewRasterizer(box.Dx(), box.Dy())
	at := func(p point) (x, y float32) {
		return float32(p.x*c.unit - float64(box.Min.X)), float32(p.y*c.unit - float64(box.Min.Y))
	}
	r.MoveTo(at(polygon[0]))
	for _, p := range polygon[1:] {
		r.LineTo(at(p))
	}
	r.ClosePath()
	r.Draw(c.RGBA, box, image.NewUniform(paint), image.Point{})
}

// ellipse fills an ellipse with these radii, turned by an angle.
func (c *canvas) ellipse(paint color.Color, at point, rx, ry, turn float64) {
	const corners = 48
	polygon := make([]point, corners)
	for i := range polygon {
		sin, cos := math.Sincos(2 * math.Pi * float64(i) / corners)
		polygon[i] = point{at.x + rx*cos*math.Cos(turn) - ry*sin*math.Sin(turn),
			at.y + rx*cos*math.Sin(turn) + ry*sin*math.Cos(turn)}
	}
	c.fill(paint, polygon)
}

func (c *canvas) disc(paint color.Color, at point, radius float64) {
	c.ellipse(paint, at, radius, radius, 0)
}

// stroke draws a line of this width along points.
func (c *canvas) stroke(paint color.Color, width float64, line []point) {
	var left, right []point
	for i, p := range line {
		before, behind := line[max(i-1, 0)], line[min(i+1, len(line)-1)]
		side := math.Atan2(behind.y-before.y, behind.x-before.x) + math.Pi/2
		left = append(left, p.towards(side, width/2))
		right = append([]point{p.towards(side, -width/2)}, right...)
	}
	c.fill(paint, append(left, right...))
	c.disc(paint, line[0], width/2)
	c.disc(paint, line[len(line)-1], width/2)
}

// arc returns the points of a part of a circle.
func arc(at point, radius, from, to float64) (line []point) {
	const steps = 24
	for i := range steps + 1 {
		line = append(line, at.towards(from+(to-from)*float64(i)/steps, radius))
	}
	return line
}

// within returns a random point of a disc.
func (c *canvas) within(at point, radius float64) point {
	return at.towards(c.angle(), radius*math.Sqrt(c.random.Float64()))
}

func (c *canvas) angle() float64 { return 2 * math.Pi * c.random.Float64() }

// between is a random number.
func (c *canvas) between(least, most float64) float64 { return least + (most-least)*c.random.Float64() }

// rgb is an opaque color from 0xRRGGBB.
func rgb(hex uint32) color.RGBA {
	return color.RGBA{uint8(hex >> 16), uint8(hex >> 8), uint8(hex), 0xff}
}

// veil is black or white of which little shows.
func veil(gray, alpha uint8) color.NRGBA { return color.NRGBA{gray, gray, gray, alpha} }
