package gpu

import (
	"fmt"

	"gorgonia.org/cu"
)

// oldestCompute is the lowest compute capability that the kernels are compiled for.
const oldestCompute = 61

// Device is one GPU.
type Device struct {
	Index   int
	Name    string
	Compute int   // compute capability, 86 for 8.6
	Total   int64 // memory in bytes
	device  cu.Device
}

// String returns the name that --device takes, such as "cuda:0".
func (d Device) String() string { return fmt.Sprintf("cuda:%d", d.Index) }

// Devices lists the GPUs, usable or not. Without a device the error gives the reason, wraps
// ErrDevice and may have a Hint.
func Devices() ([]Device, error) {
	if err := loadDriver(); err != nil {
		return nil, err
	}
	n, err := cu.NumDevices()
	if err != nil {
		return nil, failed(err, "count the GPUs")
	}
	if n == 0 {
		return nil, &Error{Text: "the driver finds no GPU", hint: hintVisible}
	}
	all := make([]Device, n)
	for i := range all {
		if all[i], err = describe(i); err != nil {
			return nil, failed(err, "ask cuda:%d what it is", i)
		}
	}
	return all, nil
}

func describe(index int) (d Device, err error) {
	d.Index = index
	if d.device, err = cu.GetDevice(index); err != nil {
		return d, err
	}
	if d.Name, err = d.device.Name(); err != nil {
		return d, err
	}
	if d.Total, err = d.device.TotalMem(); err != nil {
		return d, err
	}
	major, minor, err := d.device.ComputeCapability()
	d.Compute = 10*major + minor
	return d, err
}

// Usable returns nil, or the reason why the kernels cannot run on the device.
func (d Device) Usable() error {
	if d.Compute < oldestCompute {
		return &Error{
			Text: fmt.Sprintf("%s (%s) is too old: it has compute capability %d.%d", d, d.Name, d.Compute/10, d.Compute%10),
			hint: "compute capability 6.1 or newer is needed",
		}
	}
	return nil
}

// Free returns how many bytes of the device's memory are free. It opens the device briefly, which
// takes a tenth of a second or more, and fails if another program uses the device exclusively.
func (d Device) Free() (int64, error) { return briefly(d, (*openDevice).free) }
