package job

import (
	"path"
	"strings"

	"vidfilter/encode/formats"
	"vidfilter/encode/target"
	"vidfilter/internal/cli"
)

var formatHint = "endings: " + strings.Join(formats.Endings(formats.Format.Video), " ") +
	", pictures .png .jpg .bmp .tif .ppm; or give --format"

// OutputFormat returns FFmpeg's name of the format to write to file: the one that format names,
// else the one of the file's ending.
func OutputFormat(file, format string) (string, error) {
	if format != "" {
		name, err := namedFormat(format)
		if err != nil {
			return "", cli.BadValue("--format", format, err)
		}
		return name, nil
	}
	ending := strings.ToLower(path.Ext(file))
	if f, ok := formats.ByEnding(ending); ok {
		return f.Name, nil
	}
	switch {
	case isDescriptor(file):
		return "", cli.Usagef("for example --format mkv, which needs no seeking", "-o %s needs --format", file)
	case len(ending) <= 1:
		return "", cli.Usagef(formatHint, "the output's name %q has no ending", file)
	}
	return "", cli.Usagef(formatHint, "unknown ending %q of the output's name %q", ending, file)
}

func isDescriptor(name string) bool {
	_, ok := target.Descriptor(name)
	return ok
}

func namedFormat(name string) (string, error) {
	if f, ok := formats.Named(name); ok {
		return f.Name, nil
	}
	return "", cli.UnknownName(formats.Names(), name)
}
