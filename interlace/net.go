package interlace

import "vidfilter/denoise/plane"

// A missing sample lies in the gap between two rows of its field. The net reads six rows of the
// field, e, a, b, c, d and f from top to bottom. The gap is between b and c.
const (
	netReach = 3                  // columns each way
	netWidth = 2*netReach + 1     //
	netSums  = 2*netWidth + 3     // sums of opposite samples: b and c, a and d, three of e and f
	netFlat  = 2                  // units that read the sums
	netPairs = 4                  // units that compare the rows of a gap
	netUnits = netFlat + netPairs //
	netGates = 3                  //
	netRows  = 6                  //
)

// Net holds the weights of the estimate. Rotating the rows by 180 degrees does not change the
// result.
//
// A unit is the magnitude of a weighted sum. The units that compare the rows of a gap are pooled
// over three columns in the gap itself and in the gaps above and below. The estimate is a weighted
// mean of linear filters of the sums. A filter's weight is its gate: a weighted sum of the units,
// or 0 if that sum is negative.
type Net struct {
	Flat     [netFlat][netSums]float32
	FlatBias [netFlat]float32
	Pair     [netPairs][netWidth]float32 // for differences of opposite samples
	Centre   [netPairs][2]float32        // pooling in the gap: middle column, columns beside it
	Outer    [netPairs][3]float32        // pooling in the gap above, left to right, mirrored for the gap below
	Gate     [netGates][netUnits]float32
	GateBias [netGates]float32
	Filter   [netGates][netSums]float32
	Mean     float32 // the weight of the mean of the samples above and below
	Bias     float32
}

// fill sets the rows of a picture. Rows of the given parity come from the field own, and the net
// estimates the other rows. Sums use float32 in the order of the code, without fused operations, so
// that all engines give the same bits.
func (n *Net) fill(out, own plane.Plane, parity int) {
	unit := float32(own.Unit())
	plane.Rows(out.Height, func(y int) {
		if y&1 == parity {
			copy(out.Row(y), own.Row(y/2))
			return
		}
		for x, row := 0, out.Row(y); x < out.Width; x++ {
			v := n.estimate(gap{own, y/2 - parity, 1 / unit}, x)
			row[x] = uint16(min(max(float32(v*unit)+0.5, 0), float32(out.Max())))
		}
	})
}

// gap is the gap below row above of a field. Beyond the edges, the edge rows repeat.
type gap struct {
	field plane.Plane
	above int
	scale float32
}

// at returns a sample in 8-bit levels. Row 0 is above the gap, row 1 below it.
func (g gap) at(x, row int) float32 { return float32(float32(g.field.At(x, g.above+row)) * g.scale) }

// unit returns unit i at column x of a gap further rows below g.
func (n *Net) unit(i int, g gap, further, x int) float32 {
	sum := float32(0)
	for j, w := range n.Pair[i] {
		sum += float32(w * (g.at(x+j-netReach, further) - g.at(x-j+netReach, further+1)))
	}
	return max(sum, -sum)
}

func (n *Net) estimate(g gap, x int) float32 {
	var s [netSums]float32
	for j := range netWidth {
		s[j] = g.at(x+j-netReach, 0) + g.at(x-j+netReach, 1)
		s[netWidth+j] = g.at(x+j-netReach, -1) + g.at(x-j+netReach, 2)
	}
	for j := range 3 {
		s[2*netWidth+j] = g.at(x+j-1, -2) + g.at(x-j+1, 3)
	}
	var units [netUnits]float32
	for i := range netFlat {
		sum := n.FlatBias[i]
		for j, w := range n.Flat[i] {
			sum += float32(w * s[j])
		}
		units[i] = max(sum, -sum)
	}
	for i := range netPairs {
		sum := float32(n.Centre[i][0] * n.unit(i, g, 0, x))
		sum += float32(n.Centre[i][1] * (n.unit(i, g, 0, x-1) + n.unit(i, g, 0, x+1)))
		for j, w := range n.Outer[i] {
			sum += float32(w * (n.unit(i, g, -1, x+j-1) + n.unit(i, g, 1, x-j+1)))
		}
		units[netFlat+i] = sum
	}
	weights, total := n.Mean, float32(float32(0.5*s[netReach])*n.Mean)
	for i := range netGates {
		gate := n.GateBias[i]
		for j, w := range n.Gate[i] {
			gate += float32(w * units[j])
		}
		gate = max(gate, 0)
		filtered := float32(0)
		for j, w := range n.Filter[i] {
			filtered += float32(w * s[j])
		}
		weights += gate
		total += float32(gate * filtered)
	}
	return total/weights + n.Bias
}
