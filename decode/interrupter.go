package decode

//#include <stdlib.h>
//#include "glue.h"
import "C"

import (
	"sync"
	"unsafe"
)

// interrupter ends FFmpeg's blocking calls.
type interrupter struct {
	mu   sync.Mutex        // guards stop, which close frees
	stop *C.struct_vf_stop // C memory, since FFmpeg keeps the pointer
}

func (i *interrupter) open() { i.stop = (*C.struct_vf_stop)(C.calloc(1, C.sizeof_struct_vf_stop)) }

// interrupt may be called from any goroutine.
func (i *interrupter) interrupt() {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.stop != nil {
		C.vf_interrupt(i.stop)
	}
}

func (i *interrupter) interrupted() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.stop != nil && C.vf_stopped(i.stop) != 0
}

func (i *interrupter) close() {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.stop != nil {
		C.free(unsafe.Pointer(i.stop))
		i.stop = nil
	}
}
