package batch

import (
	"slices"
	"strings"

	"vidfilter/encode/formats"
)

// writable are the endings that an output can have.
var writable = formats.Endings(func(formats.Format) bool { return true })

// isVideo reports whether a file of this name is taken from a folder. Still images must be named
// one by one: most in a folder, such as covers, are not meant.
func isVideo(name string) bool {
	_, ok := formats.BySource(ending(name))
	return ok
}

// ending is a name's extension with its dot. A name that only begins with a dot has no ending.
func ending(name string) string {
	if i := strings.LastIndexByte(name, '.'); i > 0 && !strings.ContainsRune(name[i:], '/') {
		return name[i:]
	}
	return ""
}

// checkPicture refuses a picture of a whole video.
func checkPicture(source, output, format string, args []string) error {
	f, ok := formats.Named(format)
	if !ok {
		f, _ = formats.ByEnding(ending(output))
	}
	part := func(a string) bool { return a == "--frames=1" || strings.HasPrefix(a, "--duration=") }
	if f.Family != formats.Picture || !isVideo(source) || slices.ContainsFunc(args, part) {
		return nil
	}
	return errorf("give --frames 1, or the format of a video",
		"%q: %s holds one picture, and a video has more", source, f.Names[0])
}
