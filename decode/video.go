package decode

//#include "glue.h"
import "C"

import (
	"fmt"

	"vidfilter/internal/av"
	"vidfilter/internal/fidelity"
)

// addStated gives the properties of a frame what the container says of all pictures.
func (in *Input) addStated(p *av.Props) error {
	par := (*C.AVStream)(av.StreamPtr(in.video)).codecpar
	if err := av.Error(int(C.vf_add_stated((*C.AVFrame)(p.Pointer()), par))); err != nil {
		return fmt.Errorf("decode %s: %w", in.path, err)
	}
	return nil
}

// Look returns what the first frame says of the pictures, nil before it. It may be called from any
// goroutine.
func (in *Input) Look() *fidelity.Look { return in.first.Load() }
