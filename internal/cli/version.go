package cli

import "runtime/debug"

// version is set by the linker: -ldflags "-X vidfilter/internal/cli.version=1.2.3".
var version = ""

func Version() string {
	if version != "" {
		return version
	}
	if b, ok := debug.ReadBuildInfo(); ok && b.Main.Version != "" {
		return b.Main.Version
	}
	return "(devel)"
}
