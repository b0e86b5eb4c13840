package images

import (
	"bytes"
	"image/color"
	"image/jpeg"
	"math"
)

// The pictures of the trial sale: ten dishes, each in ten styles. They are drawn when somebody asks for
// them, always the same, in each size.

// drawnSide is the width and the height of a drawn picture in the units of its drawing.
const drawnSide = 320

const drawnQuality = 80 // of JPEG: 320 pixels take about 16 KB

var middle = point{drawnSide / 2, drawnSide / 2}

// styleColors are the ground and the garnish of each style, in the order of the catalogue.
var styleColors = [...][2]uint32{
	{0xf7d9cf, 0xd1301f}, {0xe9ecd2, 0xf6f1dc}, {0xf3e6c8, 0xf4e3b2}, {0xdfead6, 0x6ba33b},
	{0xfbe6b8, 0xe59a1c}, {0xdcdcdc, 0x2f2a28}, {0xfbe3a6, 0xd98e04}, {0xf7f3b5, 0xf2d21b},
	{0xd9d3cf, 0x7a4a32}, {0xd8ecd9, 0x2f8a44},
}

// dishDrawings draw what is on the plate, in the order of the catalogue.
var dishDrawings = [...]func(c *canvas, garnish color.Color){
	drawNoodles, drawDumplings, drawRice, drawTofu, drawPrawns, drawChicken, drawSalad, drawSoup, drawBuns,
	drawPizza,
}

// drawDish returns a JPEG of a dish in a style, of so many pixels each side.
func drawDish(dish, style, pixels int) ([]byte, error) {
	ground, garnish := rgb(styleColors[style][0]), rgb(styleColors[style][1])
	c := newCanvas(pixels, ground, uint64(dish*len(styleColors)+style+1))
	c.disc(veil(0, 40), point{middle.x + 4, middle.y + 10}, 126)
	dishDrawings[dish](c, garnish)
	for range 14 {
		c.ellipse(garnish, c.within(middle, 78), 4.5, 2, c.angle())
	}
	var b bytes.Buffer
	err := jpeg.Encode(&b, c.RGBA, &jpeg.Options{Quality: drawnQuality})
	return b.Bytes(), err
}

func (c *canvas) plate() {
	c.disc(rgb(0xffffff), middle, 124)
	c.disc(rgb(0xeef0f2), middle, 100)
	c.disc(rgb(0xf8f9fa), middle, 97)
}

func (c *canvas) bowl(outside, inside uint32) {
	c.disc(rgb(outside), middle, 122)
	c.disc(veil(255, 90), middle, 113)
	c.disc(rgb(inside), middle, 104)
}

// ring calls draw for n places around the middle, and the angle of each.
func ring(n int, radius float64, draw func(at point, angle float64)) {
	for i := range n {
		angle := 2 * math.Pi * float64(i) / float64(n)
		draw(middle.towards(angle, radius), angle)
	}
}

func drawNoodles(c *canvas, _ color.Color) {
	c.bowl(0x2f4b7c, 0xd9a05b)
	for i := range 13 {
		y, wave := 72+float64(i)*14.5, c.angle()
		half := math.Sqrt(max(96*96-(y-middle.y)*(y-middle.y), 0))
		var line []point
		for k := range 33 {
			x := middle.x - half + 2*half*float64(k)/32
			line = append(line, point{x, y + 7*math.Sin(x/17+wave)})
		}
		c.stroke(rgb(0xc98d3a), 11, line)
		c.stroke(rgb(0xf6d98b), 8, line)
	}
	for _, at := range []point{{122, 118}, {206, 140}} {
		c.ellipse(rgb(0xffffff), at, 32, 25, 0.5)
		c.disc(rgb(0xf3a61d), at, 14)
	}
}

func drawDumplings(c *canvas, _ color.Color) {
	c.plate()
	dumpling := func(at point, angle float64) {
		turn := angle + math.Pi/2
		c.ellipse(veil(0, 30), point{at.x + 2, at.y + 4}, 33, 22, turn)
		c.ellipse(rgb(0xf3e3c0), at, 33, 21, turn)
		c.ellipse(rgb(0xfbf1da), at.towards(angle, -4), 27, 14, turn)
		for k := -2.0; k <= 2; k++ {
			from := at.towards(turn, 10*k).towards(angle, 17-math.Abs(k)*2)
			c.stroke(rgb(0xd9bd88), 2.5, []point{from, from.towards(angle+math.Pi, 11)})
		}
	}
	ring(7, 66, dumpling)
	dumpling(middle, math.Pi/2)
}

func drawRice(c *canvas, _ color.Color) {
	c.bowl(0x8c2f2f, 0xe9c98f)
	grains := []uint32{0xfff6df, 0xf7e3b4, 0xfffaf0}
	for i := range 420 {
		c.ellipse(rgb(grains[i%3]), c.within(middle, 98), 7, 3, c.angle())
	}
	for range 22 {
		c.disc(rgb(0x6aa84f), c.within(middle, 88), 6)
	}
	for range 16 {
		c.ellipse(rgb(0xf6c945), c.within(middle, 86), 11, 7, c.angle())
	}
	for range 14 {
		c.ellipse(rgb(0xe57f37), c.within(middle, 86), 5, 4, c.angle())
	}
}

func drawTofu(c *canvas, _ color.Color) {
	c.bowl(0x3d5a4c, 0xa8481f)
	cube := func(at point) {
		turn := c.between(0, math.Pi/2)
		square := func(paint color.Color, at point, half float64) {
			var polygon []point
			for k := range 4 {
				polygon = append(polygon, at.towards(turn+math.Pi/4+float64(k)*math.Pi/2, half*math.Sqrt2))
			}
			c.fill(paint, polygon)
		}
		square(rgb(0xd8c49a), point{at.x + 2, at.y + 5}, 19)
		square(rgb(0xfdf5e1), at, 19)
		square(veil(255, 120), point{at.x - 2, at.y - 2}, 13)
	}
	ring(8, 68, func(at point, _ float64) { cube(at) })
	for _, at := range []point{{138, 142}, {186, 150}, {160, 184}} {
		cube(at)
	}
}

func drawPrawns(c *canvas, _ color.Color) {
	c.plate()
	ring(6, 62, func(at point, angle float64) {
		from, to := angle-2.1, angle+1.6
		c.stroke(rgb(0xd95b2b), 24, arc(at, 22, from, to))
		c.stroke(rgb(0xf58f5e), 19, arc(at, 22, from, to))
		for k := range 5 {
			turn := from + (to-from)*float64(k+1)/6
			c.stroke(rgb(0xfbd2b8), 3, []point{at.towards(turn, 13), at.towards(turn, 31)})
		}
		tail := at.towards(to, 22)
		for _, spread := range []float64{1.2, 1.9} {
			c.ellipse(rgb(0xd95b2b), tail.towards(to+spread, 12), 11, 5, to+spread)
		}
	})
	c.ellipse(rgb(0xf9e04c), middle, 20, 20, 0)
	c.disc(rgb(0xfdf3a9), middle, 16)
}

func drawChicken(c *canvas, _ color.Color) {
	c.plate()
	piece := func(at point, _ float64) {
		blob := func(paint color.Color, at point, size float64, wave [3]float64) {
			var polygon []point
			for k := range 40 {
				angle := 2 * math.Pi * float64(k) / 40
				bumps := 1 + 0.1*math.Sin(3*angle+wave[0]) + 0.07*math.Sin(5*angle+wave[1]) +
					0.03*math.Sin(11*angle+wave[2])
				polygon = append(polygon, at.towards(angle, size*bumps))
			}
			c.fill(paint, polygon)
		}
		wave := [3]float64{c.angle(), c.angle(), c.angle()}
		blob(rgb(0x9c5a1d), point{at.x + 1, at.y + 4}, 30, wave)
		blob(rgb(0xd48a34), at, 29, wave)
		for range 16 {
			c.disc(rgb(0xedb35b), c.within(at, 21), c.between(1.5, 3.5))
		}
	}
	ring(6, 62, piece)
	piece(middle, 0)
}

func drawSalad(c *canvas, _ color.Color) {
	c.bowl(0xb88b5a, 0x7fae4b)
	greens := []uint32{0x4f8f3a, 0x7cbf4c, 0xa4d65e, 0x3d7a34}
	for i := range 46 {
		at, turn := c.within(middle, 84), c.angle()
		c.ellipse(rgb(greens[i%4]), at, 25, 11, turn)
		c.stroke(veil(255, 70), 2, []point{at.towards(turn, -20), at.towards(turn, 20)})
	}
	for range 6 {
		at := c.within(middle, 74)
		c.disc(rgb(0xc9302c), at, 15)
		c.disc(rgb(0xe85b4a), at, 12)
	}
	for range 6 {
		at := c.within(middle, 74)
		c.disc(rgb(0x5c9e48), at, 15)
		c.disc(rgb(0xe2f2c4), at, 12.5)
		c.disc(rgb(0xcbe5a0), at, 6)
	}
}

func drawSoup(c *canvas, _ color.Color) {
	c.bowl(0x5a6f8f, 0xd9782d)
	c.disc(rgb(0xe58c3f), middle, 92)
	var swirl []point
	for k := range 90 {
		swirl = append(swirl, middle.towards(float64(k)/9, 8+float64(k)*0.75))
	}
	c.stroke(rgb(0xfbe9cf), 8, swirl)
	for range 9 {
		at := c.within(middle, 84)
		c.disc(rgb(0xc98a4b), at, 8)
		c.disc(rgb(0xe3b277), at, 6)
	}
}

func drawBuns(c *canvas, _ color.Color) {
	c.disc(rgb(0x9a6b35), middle, 124)
	c.disc(rgb(0xc79a5b), middle, 115)
	c.disc(rgb(0xe3c28a), middle, 103)
	for y := 76.0; y <= 244; y += 14 {
		half := math.Sqrt(max(103*103-(y-middle.y)*(y-middle.y), 0))
		c.stroke(rgb(0xc9a566), 2, []point{{middle.x - half, y}, {middle.x + half, y}})
	}
	ring(3, 52, func(at point, _ float64) {
		c.disc(veil(0, 40), point{at.x + 2, at.y + 6}, 43)
		c.disc(rgb(0xf2ead9), at, 43)
		c.disc(rgb(0xfdfaf3), point{at.x - 3, at.y - 4}, 36)
		for k := range 9 {
			turn := 2 * math.Pi * float64(k) / 9
			c.stroke(rgb(0xd9cdb4), 2.5, []point{at.towards(turn, 6), at.towards(turn+0.6, 24)})
		}
	})
}

func drawPizza(c *canvas, _ color.Color) {
	c.disc(rgb(0xb9732f), middle, 122)
	c.disc(rgb(0xd9964a), middle, 116)
	c.disc(rgb(0xc94a2a), middle, 104)
	c.disc(rgb(0xf5cf63), middle, 100)
	for range 20 {
		c.disc(rgb(0xfbe59a), c.within(middle, 90), c.between(5, 12))
	}
	for i := range 11 {
		at := middle.towards(float64(i)*2.4, 24*math.Sqrt(float64(i)+0.6))
		c.disc(rgb(0xa6281f), at, 15)
		c.disc(rgb(0xcf4636), at, 12.5)
	}
	for range 8 {
		c.ellipse(rgb(0x3f8f3f), c.within(middle, 84), 11, 6, c.angle())
	}
	for k := range 4 {
		angle := float64(k)*math.Pi/4 + 0.2
		c.stroke(veil(120, 110), 2, []point{middle.towards(angle, 118), middle.towards(angle, -118)})
	}
}
