package decode

//#include "glue.h"
import "C"

import (
	"runtime/cgo"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/asticode/go-astiav"

	"vidfilter/internal/av"
)

// Blocks held by decoders, by token. FFmpeg keeps tokens as opaque values, never Go pointers.
var (
	lent      sync.Map // uintptr -> func()
	lastToken atomic.Uintptr
)

func decoderBehind(handle C.uintptr_t) *decoder { return cgo.Handle(handle).Value().(*decoder) }

// vfWanted reports whether pictures of a format can be filtered as they are.
//
//export vfWanted
func vfWanted(handle C.uintptr_t, format C.int) C.int {
	if l, _, ok := av.LayoutOf(astiav.PixelFormat(format)); ok && decoderBehind(handle).takes(l) {
		return 1
	}
	return 0
}

// vfTake lends a block of the pool of the decoder behind handle. It returns 0 when there is no
// memory.
//
//export vfTake
func vfTake(handle C.uintptr_t, size C.size_t, data **C.uint8_t) C.uintptr_t {
	b, put, err := decoderBehind(handle).pool.Take(int(size))
	if err != nil {
		return 0
	}
	*data = (*C.uint8_t)(unsafe.Pointer(unsafe.SliceData(b)))
	token := lastToken.Add(1)
	lent.Store(token, put)
	return C.uintptr_t(token)
}

// vfPut takes a block back, on the thread that dropped its last reference.
//
//export vfPut
func vfPut(token C.uintptr_t) {
	if put, ok := lent.LoadAndDelete(uintptr(token)); ok {
		put.(func())()
	}
}

//export vfIsToken
func vfIsToken(token C.uintptr_t) C.int {
	if _, ok := lent.Load(uintptr(token)); ok {
		return 1
	}
	return 0
}
