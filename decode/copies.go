package decode

// copies are the local copies of inputs, by the names of the inputs.
var copies map[string]string

// UseCopies makes Open read local copies of inputs, by the inputs' names, which messages keep. It
// must be called before any input is opened.
func UseCopies(of map[string]string) { copies = of }

// Copies returns the copies by the inputs' names.
func Copies() map[string]string { return copies }

// FileOf returns the file that Open reads for a path: its copy, or the path itself.
func FileOf(path string) string {
	if file, ok := copies[path]; ok {
		return file
	}
	return path
}
