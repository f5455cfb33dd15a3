package record

// Path returns the name of the recording file.
func (r *Recorder) Path() string { return r.file.Name() }
