package record

// Path returns the name of the recording file.
func (r *Recorder) Path() string { return r.file.Name() }

// Bytes returns the size of the recording file.
func (r *Recorder) Bytes() int64 { return r.bytes.Load() }
