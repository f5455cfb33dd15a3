package plane

// LeastHalved is the least side that planes must have for the picture to be halved: half of it
// holds the largest patch of the filter.
const LeastHalved = 32

// HalfDepth is the depth of the samples of a picture of half the size, which are sums of 2x2: two
// bits more, of 16 at the most.
func HalfDepth(depth int) int { return min(depth+2, 16) }

// Halved returns the picture of half the size.
func (pic Picture) Halved() Picture {
	return pic.each(func(p Plane) Plane {
		out := New(p.Width/2, p.Height/2, HalfDepth(p.Depth))
		shift := p.Depth + 2 - out.Depth
		for y := range out.Height {
			row := out.Row(y)
			for x := range row {
				row[x] = uint16((p.sum(x, y) + 1<<shift>>1) >> shift)
			}
		}
		return out
	})
}

// sum returns the sum of the 2x2 samples that make sample x, y of the half.
func (p Plane) sum(x, y int) int {
	return p.At(2*x, 2*y) + p.At(2*x+1, 2*y) + p.At(2*x, 2*y+1) + p.At(2*x+1, 2*y+1)
}

// ShareBits are the bits of Replace's share.
const ShareBits = 8

// Replace changes the plane so that its half becomes another: by the difference, interpolated,
// times a share, in 1/256.
func (p Plane) Replace(half Plane, share int) {
	shift := p.Depth + 2 - half.Depth
	change := make([]int, len(half.Pix))
	for i, v := range half.Pix {
		change[i] = int(v)<<shift - p.sum(i%half.Width, i/half.Width)
	}
	at := func(x, y int) int {
		return change[min(max(y, 0), half.Height-1)*half.Width+min(max(x, 0), half.Width-1)]
	}
	const bits = 4 + 2 + ShareBits // of the weights, the sum and the share
	for y := range p.Height {
		row, v := p.Row(y), y/2+2*(y&1)-1
		for x := range row {
			u := x/2 + 2*(x&1) - 1
			sum := 9*at(x/2, y/2) + 3*at(u, y/2) + 3*at(x/2, v) + at(u, v)
			row[x] = uint16(min(max(int(row[x])+(share*sum+1<<(bits-1))>>bits, 0), p.Max()))
		}
	}
}

// Halved returns views of the picture of half the size, and false for a picture without one.
func (v Views) Halved() (half Views, ok bool) {
	half = Views{ShiftX: v.ShiftX, ShiftY: v.ShiftY}
	for i := range v.Planes {
		p := &v.Planes[i]
		if min(p.Width, p.Height) < LeastHalved {
			return Views{}, false
		}
		half.Planes = append(half.Planes, View{Width: p.Width / 2, Height: p.Height / 2, Depth: HalfDepth(p.Depth), whole: p})
	}
	return half, true
}

// readHalved reads samples of a view of half the size.
func (v *View) readHalved(out []uint16, x, y int) {
	const run = 16
	var a, b [2 * run]uint16
	shift := v.whole.Depth + 2 - v.Depth
	for len(out) > 0 {
		n := min(len(out), run)
		v.whole.Read(a[:2*n], 2*x, 2*y)
		v.whole.Read(b[:2*n], 2*x, 2*y+1)
		for i := range out[:n] {
			sum := int(a[2*i]) + int(a[2*i+1]) + int(b[2*i]) + int(b[2*i+1])
			out[i] = uint16((sum + 1<<shift>>1) >> shift)
		}
		out, x = out[n:], x+n
	}
}
