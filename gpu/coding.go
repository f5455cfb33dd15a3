package gpu

import (
	"errors"
	"fmt"
)

// Caps are a device's limits for decoding or encoding one codec, chroma format and depth. The zero
// value allows no video.
type Caps struct {
	Engines             int
	MinWidth, MinHeight int
	Width, Height       int // of the largest picture
	macroblocks         int // of 256 samples
}

// allows returns nil for a size that the device can decode or encode, according to the verb.
func (c Caps) allows(width, height int, verb string) error {
	switch {
	case c.Width == 0:
		return errors.New("this GPU does not " + verb + " it")
	case width > c.Width || height > c.Height || width*height/256 > c.macroblocks:
		return fmt.Errorf("this GPU %ss up to %dx%d", verb, c.Width, c.Height)
	case width < c.MinWidth || height < c.MinHeight:
		return fmt.Errorf("this GPU %ss from %dx%d on", verb, c.MinWidth, c.MinHeight)
	}
	return nil
}

// Coding is a kind of video, and a device's limits for it.
type Coding struct {
	Codec         string // FFmpeg's name
	Chroma, Depth int    // 420, 444
	Caps
}
