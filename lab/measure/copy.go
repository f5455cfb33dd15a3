package measure

import (
	"context"

	"vidfilter/gpu"
)

// CopyRate measures a copy of size bytes within a device's memory: bytes read and written a
// second, in 1e9.
func CopyRate(ctx context.Context, b *gpu.Backend, size int, r gpu.Repeat) (float64, error) {
	times, err := b.TimeDeviceCopy(ctx, size, r)
	if err != nil {
		return 0, err
	}
	return GBps(2*size, StatOf(times)), nil
}

// GBps is a rate in 1e9 bytes a second.
func GBps(bytes int, t Stat) float64 { return float64(bytes) / (t.Median * 1e6) }
