package gpu

import "gorgonia.org/cu"

// Limits are what bounds a device's kernels, beside its memory.
type Limits struct {
	Multiprocessors int
	Clock           float64 // of the multiprocessors at most, in Hz
	Cache           int     // level 2, in bytes
}

// Limits asks the driver.
func (d Device) Limits() (l Limits, err error) {
	var kilohertz int
	for _, a := range []struct {
		what cu.DeviceAttribute
		to   *int
	}{{cu.MultiprocessorCount, &l.Multiprocessors}, {cu.ClockRate, &kilohertz}, {cu.L2CacheSize, &l.Cache}} {
		if *a.to, err = d.device.Attribute(a.what); err != nil {
			return l, failed(err, "ask %s for its limits", d)
		}
	}
	l.Clock = 1000 * float64(kilohertz)
	return l, nil
}

// Device returns the first of the backend's devices.
func (b *Backend) Device() Device { return b.units[0].Device }
