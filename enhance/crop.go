package enhance

import (
	"fmt"
	"strconv"
	"strings"

	"vidfilter/internal/hint"
)

// Crop is a value of --crop. The zero value is the whole picture.
type Crop struct {
	Auto    bool // the box is still to be found
	Centred bool // X and Y follow from the size
	Box     Box  // of the picture as it is shown
}

const (
	cropHint  = "give auto, or width, height, left and upper edge in pixels: 1920:800:0:140, or 1920:800 in the middle"
	mostSide  = 1 << 16
	leastSide = 16
)

// ParseCrop reads auto, W:H:X:Y or W:H.
func ParseCrop(s string) (Crop, error) {
	if s == "auto" {
		return Crop{Auto: true}, nil
	}
	fields := strings.Split(s, ":")
	if len(fields) != 2 && len(fields) != 4 {
		return Crop{}, hint.Errorf(cropHint, "not W:H:X:Y")
	}
	c := Crop{Centred: len(fields) == 2}
	to := []*int{&c.Box.Width, &c.Box.Height, &c.Box.X, &c.Box.Y}
	for i, field := range fields {
		n, err := strconv.Atoi(field)
		if err != nil || n < 0 || n > mostSide {
			return Crop{}, hint.Errorf(cropHint, "%q is not a number of pixels", field)
		}
		*to[i] = n
	}
	if c.Box.Width < leastSide || c.Box.Height < leastSide {
		return Crop{}, hint.Errorf(fmt.Sprintf("make it at least %dx%d", leastSide, leastSide),
			"a picture of %dx%d is too small", c.Box.Width, c.Box.Height)
	}
	return c, nil
}

// CropOf returns the crop to a box of the stored picture that a detector found.
func CropOf(f Facts, stored Box) Crop { return Crop{Box: f.Shown(stored)} }

// Graph refuses edges that would divide samples of chroma, or swap the fields.
func (c Crop) Graph(f Facts) (string, error) {
	if c.Auto {
		return "", hint.Errorf("give W:H:X:Y", "--crop auto: the bars are not measured")
	}
	b := c.Box
	if b.empty() {
		return "", nil
	}
	width, height := f.shownSize()
	if b.X+b.Width > width || b.Y+b.Height > height {
		at := ""
		if !c.Centred {
			at = fmt.Sprintf(" at %d,%d", b.X, b.Y)
		}
		return "", hint.Errorf("the order is width, height, left and upper edge, of the picture as it is shown",
			"--crop: %dx%d%s reaches beyond the picture of %dx%d", b.Width, b.Height, at, width, height)
	}
	stepX, stepY := f.steps()
	if c.Centred {
		b.X, b.Y = (width-b.Width)/2, (height-b.Height)/2
	}
	b = f.Stored(b)
	if c.Centred {
		b.X, b.Y = b.X/stepX*stepX, b.Y/stepY*stepY
	}
	if near := b.near(stepX, stepY, f.Format.Width, f.Format.Height); near != b {
		return "", hint.Errorf(fmt.Sprintf("the nearest is --crop %v", f.Shown(near)), "--crop %v: %s", c.Box, f.whyEven(stepX, stepY))
	}
	if b.Width == f.Format.Width && b.Height == f.Format.Height {
		return "", nil
	}
	if b.Width%2 != 0 || b.Height%2 != 0 { // the edge of a picture of odd size
		return fmt.Sprintf("crop=%v:exact=1", b), nil
	}
	return fmt.Sprintf("crop=%v", b), nil
}

// whyEven explains the steps.
func (f Facts) whyEven(x, y int) string {
	sideways, _, _ := f.orientation()
	if sideways {
		x, y = y, x
	}
	text := fmt.Sprintf("columns are cut in multiples of %d, and rows of %d", x, y)
	if !f.Progressive {
		text += ", as the frames may be interlaced"
	}
	return text
}

// near returns the largest box with edges on the steps that lies within b. An edge may also be the
// picture's.
func (b Box) near(stepX, stepY, width, height int) Box {
	b.X, b.Width = span(b.X, b.Width, stepX, width)
	b.Y, b.Height = span(b.Y, b.Height, stepY, height)
	return b
}

func span(at, length, step, whole int) (int, int) {
	from := (at + step - 1) / step * step
	to := at + length
	if to != whole || from > 0 {
		to = from + max(step, (to-from)/step*step)
	}
	return from, to - from
}
