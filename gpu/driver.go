package gpu

// #cgo LDFLAGS: -lcuda
// #include <libcuda.h>
import "C"

import (
	"fmt"
	"strings"

	"gorgonia.org/cu"
)

// oldestDriver is the first version that can compile the kernels: PTX ISA 6.0 (CUDA 9.0, 2017).
const oldestDriver = 9000

// DriverVersion returns the newest CUDA version that the driver supports, such as "12.4", or ""
// without a driver. It loads the driver.
func DriverVersion() string {
	if v := cu.Version(); v > 0 {
		return versionText(v)
	}
	return ""
}

func versionText(v int) string { return fmt.Sprintf("%d.%d", v/1000, v%1000/10) }

// loadDriver loads and initializes the driver, which takes a moment the first time. The error gives
// the reason that it cannot be used.
func loadDriver() error {
	s := C.vf_cuda_state()
	switch v := cu.Version(); {
	case s.load_error != nil:
		return notLoaded(C.GoString(s.load_error))
	case s.init != C.CUDA_SUCCESS:
		text, hint := explain(int(s.init))
		return &Error{Code: int(s.init), Text: text, hint: hint}
	case v < oldestDriver:
		text := fmt.Sprintf("the driver is too old: it knows CUDA %s, and the kernels need 9.0", versionText(max(v, 0)))
		return &Error{Text: text, hint: hintDriver}
	}
	return nil
}

// notLoaded distinguishes a missing driver from a broken one.
func notLoaded(why string) error {
	const hint = "NVIDIA's driver brings libcuda.so.1; containers need it passed in"
	if strings.Contains(why, "libcuda.so.1: cannot open shared object file: No such file") {
		return &Error{Text: "no NVIDIA driver found", hint: hint}
	}
	return &Error{Text: "NVIDIA's driver does not load: " + why, hint: hintDriver}
}
