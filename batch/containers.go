package batch

import (
	"slices"
	"strings"
)

// container is an ending of a video's name, and what it becomes: the program writes mp4, mov, mkv and ts.
type container struct {
	endings string
	output  string // "" keeps the ending
}

// videos are what is taken from folders.
var videos = []container{
	{".mp4 .m4v .mov .mkv .ts", ""},
	// Kin of mp4, under names that say what the output no longer is.
	{".3gp .3g2 .f4v", ".mp4"}, {".qt", ".mov"},
	// Transport streams of cameras, discs and receivers. What is written is a plain one, with packets of 188 bytes and without what
	// such devices expect behind these names.
	{".m2ts .mts .m2t .tp .trp", ".ts"},
	// Containers that the program does not write. Matroska holds H.264 and whatever streams came along, with their times.
	{".avi .divx .webm .mk3d .mpg .mpeg .mpe .m2p .m1v .m2v .mpv .vob .evo .wmv .asf .flv .ogv .ogm .mxf .gxf .dv .rm .rmvb .nut .wtv .mjpeg" +
		" .y4m .h264 .264 .avc .h265 .265 .hevc .ivf .obu .amv .mod .tod .dvr-ms", ".mkv"},
}

// pictures are filtered where they are named one by one; folders are full of those that belong to something else.
var pictures = []string{".png", ".jpg", ".jpeg", ".bmp", ".tif", ".tiff", ".ppm"}

// fallback is for endings that nothing is known of: Matroska takes the most.
const fallback = ".mkv"

// formats are what --format takes, and the endings that suit, the first being used where the source's does not.
var formats = map[string][]string{
	"mp4": {".mp4", ".m4v"}, "mov": {".mov"}, "mkv": {".mkv"}, "matroska": {".mkv"}, "ts": {".ts"}, "mpegts": {".ts"},
	"png": {".png"}, "jpg": {".jpg", ".jpeg"}, "jpeg": {".jpg", ".jpeg"}, "mjpeg": {".jpg", ".jpeg"}, "bmp": {".bmp"},
	"tif": {".tif", ".tiff"}, "tiff": {".tif", ".tiff"}, "ppm": {".ppm"},
}

// writable are the endings that the main job knows a format for.
var writable = slices.Concat(strings.Fields(".mp4 .m4v .mov .mkv .ts .m2ts .mts"), pictures)

// isVideo says whether a file of this name is taken from a folder.
func isVideo(name string) bool {
	_, ok := lookup(ending(name))
	return ok
}

func lookup(ext string) (output string, ok bool) {
	for _, c := range videos {
		if slices.Contains(strings.Fields(c.endings), strings.ToLower(ext)) {
			return c.output, true
		}
	}
	return "", false
}

// outputEnding is {ext}: the source's ending, as written there, unless the output cannot be that.
func outputEnding(ext, format string) string {
	lower := strings.ToLower(ext)
	if suits := formats[strings.ToLower(format)]; suits != nil {
		if slices.Contains(suits, lower) {
			return ext
		}
		return suits[0]
	}
	output, known := lookup(lower)
	switch {
	case output != "":
		return output
	case known, slices.Contains(pictures, lower):
		return ext
	}
	return fallback
}

// ending is a name's extension with its dot. A name that only begins with a dot has none.
func ending(name string) string {
	if i := strings.LastIndexByte(name, '.'); i > 0 && !strings.ContainsRune(name[i:], '/') {
		return name[i:]
	}
	return ""
}
