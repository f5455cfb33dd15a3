package live

import "vidfilter/pipeline"

// displayed is a source that knows how its pictures are meant to be shown.
type displayed interface{ Display() pipeline.Display }

func (f *file) Display() pipeline.Display {
	turn, aspect := f.in.Display()
	return pipeline.Display{Turn: turn, Aspect: aspect}
}
