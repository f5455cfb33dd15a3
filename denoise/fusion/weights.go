package fusion

// weigh sets the weights of a neighbour's coefficients by their difference from the reference's:
// the patch's weight falls with its mean difference, each frequency's with the mean of the
// frequencies about it.
func (b *patch) weigh(weights, frame, reference []float32) {
	total := float32(0)
	for k := range frame {
		d := frame[k] - reference[k]
		b.excess[k] = d * d / b.local[k]
		total += b.excess[k]
	}
	b.pool(b.pooled, b.excess, b.n)
	b.fade(weights, total/float32(len(frame)))
}

// weighBeside sets the weights of the past by its excess. The DC, which changes as the light does,
// is judged by itself.
func (b *patch) weighBeside(weights []float32) {
	dc := b.excess[0]
	b.excess[0] = 0
	total := mean(b.excess) * dcLess(len(b.excess))
	b.pool(b.pooled, b.excess, b.n)
	for v := range groupSide {
		for u := range groupSide {
			b.pooled[v*b.n+u] *= dcLess(groupSide * groupSide)
		}
	}
	b.excess[0] = dc
	b.fade(weights, total)
}

// dcLess makes the mean of n coefficients, the DC as 0, the mean of the others.
func dcLess(n int) float32 { return float32(n) / float32(n-1) }

// fade sets weights by the excess, pooled and in the mean.
func (b *patch) fade(weights []float32, mean float32) {
	whole := exp(-max(0, mean-b.expected) / b.PatchFade)
	if b.DCGate {
		gateDC(b.pooled, b.excess, b.n)
	}
	for k, e := range b.pooled {
		weights[k] = whole / (1 + b.Frequency*max(0, e-b.expected))
	}
}

// gateDC keeps the pooling from hiding a change of brightness, which is in one coefficient, or of
// the slopes. Flashes and fades would pass otherwise.
func gateDC(pooled, excess []float32, n int) {
	pooled[0] = max(pooled[0], excess[0])
	pooled[1] = max(pooled[1], excess[1]/2)
	pooled[n] = max(pooled[n], excess[n]/2)
}

// poolAround takes means over the 3x3 coefficients about each, of those that exist.
func poolAround(out, in []float32, n int) {
	for k := range out {
		sum, count := sumAround(in, n, k)
		out[k] = sum / count
	}
}

func sumAround(in []float32, n, k int) (sum, count float32) {
	v, u := k/n, k%n
	for y := max(v-1, 0); y <= min(v+1, n-1); y++ {
		for x := max(u-1, 0); x <= min(u+1, n-1); x++ {
			sum += in[y*n+x]
			count++
		}
	}
	return sum, count
}

const groupSide = 4

// poolGroups takes means over groups of 4x4 coefficients.
func poolGroups(out, in []float32, n int) {
	const side = groupSide
	for v := 0; v < n; v += side {
		for u := 0; u < n; u += side {
			sum := float32(0)
			for i := range side * side {
				sum += in[(v+i/side)*n+u+i%side]
			}
			for i := range side * side {
				out[(v+i/side)*n+u+i%side] = sum / (side * side)
			}
		}
	}
}
