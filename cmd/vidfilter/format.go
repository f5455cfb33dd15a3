package main

import (
	"path"
	"slices"
	"strings"
)

// formats are the outputs: what FFmpeg calls the muxer (for video) or encoder (for a picture), the names
// that --format takes, the first being the one shown, and the endings of file names.
var formats = []struct {
	name    string
	aliases []string
	endings []string
}{
	{"mp4", []string{"mp4"}, []string{"mp4", "m4v"}},
	{"mov", []string{"mov"}, []string{"mov"}},
	{"matroska", []string{"mkv", "matroska"}, []string{"mkv"}},
	{"mpegts", []string{"ts", "mpegts"}, []string{"ts", "m2ts", "mts"}},
	{"null", []string{"null"}, nil},
	{"png", []string{"png"}, []string{"png"}},
	{"mjpeg", []string{"jpg", "jpeg", "mjpeg"}, []string{"jpg", "jpeg"}},
	{"bmp", []string{"bmp"}, []string{"bmp"}},
	{"tiff", []string{"tif", "tiff"}, []string{"tif", "tiff"}},
	{"ppm", []string{"ppm"}, []string{"ppm"}},
}

const formatHint = "endings: .mp4 .m4v .mov .mkv .ts .m2ts .mts, pictures .png .jpg .bmp .tif .ppm; or give --format"

// outputFormat returns what to write to file: format decides where it is given, else the name's ending.
// The result is one of mp4, mov, matroska, mpegts and null, or for one picture png, mjpeg, bmp, tiff and
// ppm.
func outputFormat(file, format string) (string, error) {
	if format != "" {
		name, err := namedFormat(format)
		if err != nil {
			return "", badValue("--format", format, err)
		}
		return name, nil
	}
	ending := strings.ToLower(strings.TrimPrefix(path.Ext(file), "."))
	for _, f := range formats {
		if slices.Contains(f.endings, ending) {
			return f.name, nil
		}
	}
	switch {
	case file == "-":
		return "", usagef("for example --format mkv, which needs no seeking", "-o - needs --format")
	case ending == "webm":
		return "", usagef("write .mkv: it holds H.264 and all that webm holds", "webm cannot hold H.264")
	case ending == "":
		return "", usagef(formatHint, "the output's name %q has no ending", file)
	}
	return "", usagef(formatHint, "unknown ending %q of the output's name %q", "."+ending, file)
}

func namedFormat(name string) (string, error) {
	lower := strings.ToLower(name)
	for _, f := range formats {
		if slices.Contains(f.aliases, lower) {
			return f.name, nil
		}
	}
	return "", unknownName(formatNames(), name)
}

// formatNames lists the names that --format takes, one for each format.
func formatNames() []string {
	all := make([]string, len(formats))
	for i, f := range formats {
		all[i] = f.aliases[0]
	}
	return all
}

// isPicture says whether a format that outputFormat returned is a single picture.
func isPicture(format string) bool {
	return slices.Contains([]string{"png", "mjpeg", "bmp", "tiff", "ppm"}, format)
}
