package decode

import "path/filepath"

// Reach is what an input makes a process open.
type Reach struct {
	Files   []string // and folders with all below them
	Devices []string // likewise, with all that drivers offer
	Peer    bool     // datagrams to and from other machines
	Ports   []int    // of TCP servers
}

// ReachOf returns what Open opens for a path: the file itself, for a format that names others all
// of its folder, for an address its port. A redirection to another port leads nowhere.
func ReachOf(path string, o Options) (r Reach) {
	switch {
	case isAddress(path) && o.AllowNetwork:
		return reachOfAddress(path)
	case IsCamera(path): // which comes back as another node after it was unplugged
		r.Devices = []string{"/dev"}
		r.Files = []string{"/sys/class/video4linux", "/sys/devices"}
		return r
	case path == "-":
		r.Files = []string{"/dev/fd/0"}
	default:
		r.Files = []string{path}
	}
	if Refers(o.Format) {
		r.Files = append(r.Files, filepath.Dir(path))
	}
	return r
}
