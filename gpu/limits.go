package gpu

import (
	"gorgonia.org/cu"

	"vidfilter/kernels"
)

// Limits are the limits of a device that affect kernels, besides its memory.
type Limits struct {
	kernels.Limits
	Clock float64 // highest multiprocessor clock, in Hz
	Cache int     // level 2, in bytes
}

// sharedMemoryPerBlockOptin is CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, which
// package cu lacks.
const sharedMemoryPerBlockOptin cu.DeviceAttribute = 97

// Limits queries the driver for the device's limits.
func (d Device) Limits() (l Limits, err error) {
	var kilohertz int
	for _, a := range []struct {
		attribute cu.DeviceAttribute
		to        *int
	}{
		{cu.MultiprocessorCount, &l.Multiprocessors}, {cu.ClockRate, &kilohertz}, {cu.L2CacheSize, &l.Cache},
		{sharedMemoryPerBlockOptin, &l.SharedBlock},
		{cu.MaxSharedMemoryPerMultiprocessor, &l.SharedMultiprocessor},
	} {
		if *a.to, err = d.device.Attribute(a.attribute); err != nil {
			return l, failed(err, "ask %s for its limits", d)
		}
	}
	l.Compute, l.Clock = d.Compute, 1000*float64(kilohertz)
	return l, nil
}

// Device returns the first of the backend's devices.
func (b *Backend) Device() Device { return b.units[0].Device }
