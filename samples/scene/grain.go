package scene

// Grain: white noise, near Gaussian as the sum of four bytes, blurred by 1-3-1 both ways, so that
// grains are one to two pixels wide, as in film. It is strongest in the mid-tones, as in film.
const (
	// grainSigma is the standard deviation of the blurred sum: sqrt(4*(256*256-1)/12) of the four
	// bytes, times sqrt(1+9+1) for each direction of the blur.
	grainSigma = 1626
	grainBits  = 20 // fraction bits of the gain
	grainFloor = 40 // gain in black and white, percent of the mid-tones'
	grainColor = 35 // chroma grain, percent of luma
)

// grainGain returns the factor from the blurred sum to code values << grainBits, for each luma
// value; sigma is in 1/256 code value.
func grainGain(sigma, percent int) *[256]int {
	var g [256]int
	for luma := range g {
		l := clamp(luma-16, 0, 219)
		bell := 4 * l * (219 - l) * 1000 / (219 * 219) // 0..1000
		part := grainFloor*10 + (100-grainFloor)*bell/100
		g[luma] = sigma * percent * part / 100 << (grainBits - 8) / (1000 * grainSigma)
	}
	return &g
}

// grainRows holds three rows of noise, blurred across, for a plane of one frame.
type grainRows struct {
	seed  uint64
	next  int // row that push makes
	white []int32
	rows  [3][]int32
}

func newGrainRows(seed uint64, width, firstRow int) *grainRows {
	g := &grainRows{seed: seed, next: firstRow - 1, white: make([]int32, width+4)}
	for i := range g.rows {
		g.rows[i] = make([]int32, width)
	}
	g.push()
	g.push()
	return g
}

// push makes the next row and drops the oldest.
func (g *grainRows) push() {
	// One hash gives two samples. The row has a hash of its own, so that row and column stay
	// apart.
	row := hash(g.seed, uint64(int64(g.next)))
	for x := 0; x+1 < len(g.white); x += 2 {
		z := hash(uint64(x), row)
		pairs := z&0x00ff00ff00ff00ff + z>>8&0x00ff00ff00ff00ff
		g.white[x] = int32(pairs&0xffff+pairs>>16&0xffff) - 510
		g.white[x+1] = int32(pairs>>32&0xffff+pairs>>48) - 510
	}
	oldest := g.rows[0]
	g.rows[0], g.rows[1], g.rows[2] = g.rows[1], g.rows[2], oldest
	w := g.white
	for x := range oldest {
		oldest[x] = w[x] + 3*w[x+1] + w[x+2]
	}
	g.next++
}

// at returns the grain at column x of the middle row, in grainSigma.
func (g *grainRows) at(x int) int {
	return int(g.rows[0][x] + 3*g.rows[1][x] + g.rows[2][x])
}

// grain adds noise to rows y0 to y1 of frame n, both even or the frame's end. Chroma goes first,
// while luma still has the scene's brightness.
func (r *Renderer) grain(dst []byte, n, y0, y1 int) {
	w, cw := r.cfg.Width, (r.cfg.Width+1)/2
	luma, u, v := r.planes(dst)
	seed := hash(r.cfg.Seed, uint64(n))
	for i, plane := range [][]byte{u, v} {
		g := newGrainRows(hash(seed, uint64(i+1)), cw, y0/2)
		for y := y0 / 2; y < (y1+1)/2; y++ {
			g.push()
			row, bright := plane[y*cw:][:cw], luma[2*y*w:][:w]
			for x := range row {
				row[x] = addGrain(row[x], g.at(x), r.chromaGain[bright[2*x]])
			}
		}
	}
	g := newGrainRows(hash(seed, 0), w, y0)
	for y := y0; y < y1; y++ {
		g.push()
		row := luma[y*w:][:w]
		for x := range row {
			row[x] = addGrain(row[x], g.at(x), r.lumaGain[row[x]])
		}
	}
}

func addGrain(sample byte, noise, gain int) byte {
	// 0 and 255 are reserved in limited range.
	return byte(clamp(int(sample)+(noise*gain+1<<(grainBits-1))>>grainBits, 1, 254))
}
