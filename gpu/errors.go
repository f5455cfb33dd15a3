package gpu

// #include <libcuda.h>
import "C"

import (
	"errors"
	"fmt"
	"reflect"

	"vidfilter/internal/contract"
)

// ErrDevice is wrapped by every error caused by a device: it is missing, or cannot do the job.
var ErrDevice = contract.NewClass(contract.ExitDevice, "device not available")

// ErrNVENC is also wrapped by errors caused by NVENC: the CPU can encode without it.
var ErrNVENC = errors.New("NVENC not available")

// Kinds of ErrNVENC that callers distinguish.
var (
	ErrNVENCFull  = fmt.Errorf("%w: it opens no further session", ErrNVENC)
	ErrNVENCLacks = fmt.Errorf("%w: it would never encode this here", ErrNVENC)
)

// Error is a failure of a device or its driver. It wraps ErrDevice.
type Error struct {
	Op   string // "gpu: launch tile_r3 on cuda:0, 3840x2160"; "" if Text is enough
	Code int    // the driver's CUresult; 0 if the error is not the driver's
	Text string // the cause
	hint string

	nvenc error // ErrNVENC or a kind of it, which it also wraps; nil if NVENC is not the cause
}

func (e *Error) Error() string {
	if e.Op == "" {
		return e.Text
	}
	return e.Op + ": " + e.Text
}

func (e *Error) Unwrap() error { return ErrDevice }

// Is also matches ErrNVENC and its kinds.
func (e *Error) Is(target error) bool { return e.nvenc != nil && errors.Is(e.nvenc, target) }

// Hint suggests a remedy to the user, or is "".
func (e *Error) Hint() string { return e.hint }

// Cause is for contract.Done.
func (e *Error) Cause() string {
	switch {
	case errors.Is(e.nvenc, ErrNVENCFull):
		return contract.CauseSession
	case errors.Is(e.nvenc, ErrNVENCLacks):
		return contract.CauseNVENC
	}
	return ""
}

// failed wraps err, from a call of cu or of our own C code, in an Error that names the operation.
// It returns nil for nil, and err itself if it wraps an Error already, from a step of the
// operation.
func failed(err error, op string, args ...any) error {
	if err == nil || errors.As(err, new(*Error)) {
		return err
	}
	e := &Error{Op: "gpu: " + fmt.Sprintf(op, args...), Code: codeOf(err), Text: err.Error()}
	if e.Code != 0 {
		e.Text, e.hint = explain(e.Code)
	}
	return e
}

// megabytes formats a size for messages.
func megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }

// codeOf returns the CUresult in an error of package cu, whose type is an unexported int.
func codeOf(err error) int {
	for ; err != nil; err = errors.Unwrap(err) {
		if v := reflect.ValueOf(err); v.Kind() == reflect.Int {
			return int(v.Int())
		}
	}
	return 0
}

// status is a CUresult of our own C code; cu has an unexported type for its calls.
type status int

func (s status) Error() string { text, _ := explain(int(s)); return text }

func result(r C.CUresult) error {
	if r == C.CUDA_SUCCESS {
		return nil
	}
	return status(r)
}

const (
	hintReset   = "nvidia-smi tells the GPU's state; a reset or a restart of the machine helps most often"
	hintDriver  = "install a newer driver from NVIDIA, or restart after an update of it"
	hintOthers  = "nvidia-smi lists who uses the GPU; end that, or set its compute mode to default"
	hintVisible = "nvidia-smi lists the GPUs; CUDA_VISIBLE_DEVICES hides some, and containers need them passed in"
	hintPinned  = "the memory that may be locked is used up (ulimit -l, or a container's limit); --frames-in-flight 1 needs the least"
	hintMemory  = "nvidia-smi lists who uses the GPU's memory; --streams 1 and --frames-in-flight 1 need the least"
)

// causes describes the driver errors that users are likely to meet. For others the driver's own
// text is used.
var causes = map[int]struct{ text, hint string }{
	C.CUDA_ERROR_OUT_OF_MEMORY:                  {"out of memory", hintMemory},
	C.CUDA_ERROR_NOT_INITIALIZED:                {"the driver is not initialized", hintReset},
	C.CUDA_ERROR_STUB_LIBRARY:                   {"libcuda.so.1 is the toolkit's stub, not a driver", "take the stubs folder off LD_LIBRARY_PATH"},
	C.CUDA_ERROR_DEVICE_UNAVAILABLE:             {"the GPU is busy: its compute mode admits no further program", hintOthers},
	C.CUDA_ERROR_NO_DEVICE:                      {"the driver finds no GPU", hintVisible},
	C.CUDA_ERROR_INVALID_DEVICE:                 {"there is no such GPU", "vidfilter devices lists them"},
	C.CUDA_ERROR_NO_BINARY_FOR_GPU:              {"the GPU is too old for the kernels", "compute capability 6.1 or newer is needed"},
	C.CUDA_ERROR_ECC_UNCORRECTABLE:              {"the GPU's memory had an uncorrectable error", hintReset},
	C.CUDA_ERROR_INVALID_PTX:                    {"the driver cannot compile the kernel", hintDriver},
	C.CUDA_ERROR_JIT_COMPILER_NOT_FOUND:         {"the driver's compiler (libnvidia-ptxjitcompiler) is missing", hintDriver},
	C.CUDA_ERROR_UNSUPPORTED_PTX_VERSION:        {"the driver is too old for the kernels", hintDriver},
	C.CUDA_ERROR_ILLEGAL_ADDRESS:                {"a kernel left its memory", ""},
	C.CUDA_ERROR_LAUNCH_TIMEOUT:                 {"the kernel took longer than this machine allows", "GPUs that drive a screen have a limit; a smaller --radius is faster"},
	C.CUDA_ERROR_LAUNCH_FAILED:                  {"the kernel failed on the GPU, or the GPU was lost", hintReset},
	C.CUDA_ERROR_NOT_FOUND:                      {"the driver lacks it", hintDriver},
	C.CUDA_ERROR_NOT_PERMITTED:                  {"not permitted", ""},
	C.CUDA_ERROR_SYSTEM_NOT_READY:               {"the driver's services are not ready", "machines with NVSwitch need nvidia-fabricmanager running"},
	C.CUDA_ERROR_SYSTEM_DRIVER_MISMATCH:         {"libcuda.so.1 and the kernel module are of different versions", hintDriver},
	C.CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE: {"this GPU does not support the compatibility driver", hintDriver},
	C.CUDA_ERROR_UNKNOWN:                        {"the driver does not say what is wrong", hintReset},
}

// explain describes a CUresult.
func explain(code int) (text, hint string) {
	if c, ok := causes[code]; ok {
		return c.text, c.hint
	}
	var s *C.char
	if C.cuGetErrorString(C.CUresult(code), &s) == C.CUDA_SUCCESS && s != nil {
		return fmt.Sprintf("%s (CUDA error %d)", C.GoString(s), code), ""
	}
	return fmt.Sprintf("CUDA error %d", code), ""
}
