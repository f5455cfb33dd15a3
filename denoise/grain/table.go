package grain

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"math/big"

	"vidfilter/pipeline"
)

// ticks is the number of a table's units of time in a second.
const ticks = 10_000_000

// WriteTable writes a film grain table, which encoders of AV1 read ("filmgrn1"). Times count from
// the first segment; a unit of theirs is num/den seconds. Scenes without grain have no entry, and
// the last one holds on.
func WriteTable(w io.Writer, segments []Segment, num, den int) error {
	b := bufio.NewWriter(w)
	fmt.Fprintln(b, "filmgrn1")
	tick := func(t int64) int64 {
		x := new(big.Int).Mul(big.NewInt(t-segments[0].Start), big.NewInt(ticks*int64(num)))
		return x.Div(x, big.NewInt(int64(den))).Int64()
	}
	for i, s := range segments {
		if s.Grain == nil {
			continue
		}
		end := tick(s.End)
		if i == len(segments)-1 {
			end = math.MaxInt64
		}
		s.write(b, tick(s.Start), end, pipeline.GrainSeed(int64(i)))
	}
	return b.Flush()
}

func (s Segment) write(b *bufio.Writer, start, end int64, seed uint16) {
	g := s.Grain
	fmt.Fprintf(b, "E %d %d 1 %d 1\n", start, end, seed)
	fmt.Fprintf(b, "\tp %d %d %d %d %d %d", g.Lag, g.WeightShift, g.NoiseShift, g.ScalingShift, flag(g.ChromaFromLuma), flag(g.Overlap))
	for c := range g.Chroma { // as they are coded, without a sign
		fmt.Fprintf(b, " %d %d %d", g.Own[c]+128, g.ByLuma[c]+128, g.Offset[c]+256)
	}
	fmt.Fprintln(b)
	for i, points := range [][]pipeline.GrainPoint{g.Luma, g.Chroma[0], g.Chroma[1]} {
		fmt.Fprintf(b, "\ts%s %d", names[i], len(points))
		for _, p := range points {
			fmt.Fprintf(b, " %d %d", p.Value, p.Scale)
		}
		fmt.Fprintln(b)
	}
	for i, weights := range [][]int8{g.LumaWeights, g.ChromaWeights[0], g.ChromaWeights[1]} {
		fmt.Fprintf(b, "\tc%s", names[i])
		for _, w := range weights {
			fmt.Fprintf(b, " %d", w)
		}
		fmt.Fprintln(b)
	}
}

func flag(b bool) int {
	if b {
		return 1
	}
	return 0
}

var names = [3]string{"Y", "Cb", "Cr"}
