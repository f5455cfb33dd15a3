// Package sandbox runs the part of the program that reads files of others in a process that can
// do little else. The parent keeps the user's rights and uses them at the child's request. The
// child gives up its own for good before it opens its input.
//
// A Policy lists all that a child may still do. Enter closes every other door that the kernel can
// close: Landlock for files, connections and signals, seccomp for system calls, no_new_privs, and
// limits on memory and core dumps.
package sandbox

import (
	"bufio"
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Policy lists the remaining rights of a process. The zero value allows it to compute, and to use
// the descriptors that it has.
type Policy struct {
	Read    []string // files to read, and folders with all below them
	Write   []string // files to write and read, and folders whose files may be; all exist
	Devices []string // device nodes to use, and folders with all below them
	Folders []string // in which files are made, replaced and removed

	Network Network
	Ports   []uint16 // of TCP servers, with Client

	Memory int64 // most bytes of data; 0 for no limit
}

// Network is the part of the network that a process may use. Each value includes the earlier ones.
type Network uint8

// The values of Network.
const (
	Offline Network = iota
	Accept          // connections to sockets that listen already
	Peer            // new sockets for datagrams
	Client          // new sockets for TCP, to Policy.Ports
)

// common are files that the C library, Go, FFmpeg and we read at any time: random numbers, the size
// of the machine, and the limits of control groups.
var common = []string{
	"/dev/urandom", "/proc/cpuinfo", "/proc/meminfo", "/proc/self/cgroup", "/sys/devices/system/cpu", "/sys/devices/system/node", "/sys/fs/cgroup",
}

// resolving are files that the C library reads to look up the address of a name.
var resolving = []string{
	"/etc/hosts", "/etc/host.conf", "/etc/resolv.conf", "/etc/nsswitch.conf", "/etc/gai.conf", "/etc/services", "/etc/ld.so.cache",
	"/lib", "/lib64", "/usr/lib", "/usr/lib64", "/run/systemd/resolve",
}

// With returns the union of two policies.
func (p Policy) With(q Policy) Policy {
	p.Read, p.Write = slices.Concat(p.Read, q.Read), slices.Concat(p.Write, q.Write)
	p.Devices, p.Folders = slices.Concat(p.Devices, q.Devices), slices.Concat(p.Folders, q.Folders)
	p.Network, p.Ports = max(p.Network, q.Network), slices.Concat(p.Ports, q.Ports)
	p.Memory = max(p.Memory, q.Memory)
	return p
}

// CUDA returns the files that the CUDA driver, if this process has loaded it, still opens after its
// start: its devices, the library that compiles kernels, and the cache of compiled ones. It makes
// the cache's folder.
func CUDA(env func(string) string) Policy {
	folder := libraryFolder("libcuda.so")
	if folder == "" {
		return Policy{}
	}
	p := Policy{
		Read: []string{
			folder, "/etc/ld.so.cache", "/proc/self", "/proc/driver/nvidia", "/proc/devices", "/proc/modules", "/proc/sys/vm",
			"/sys/bus/pci", "/sys/devices", "/sys/module",
		},
		Devices: []string{"/dev/dxg"}, // of Windows
	}
	nodes, _ := filepath.Glob("/dev/nvidia*")
	p.Devices = append(p.Devices, nodes...)
	cache := env("CUDA_CACHE_PATH")
	if home := env("HOME"); cache == "" && home != "" {
		cache = filepath.Join(home, ".nv", "ComputeCache")
	}
	if cache != "" && env("CUDA_CACHE_DISABLE") != "1" && os.MkdirAll(cache, 0o700) == nil {
		p.Folders = []string{cache}
	}
	return p
}

// libraryFolder returns the folder of a library that this process has loaded, or "".
func libraryFolder(name string) string {
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return ""
	}
	for lines := bufio.NewScanner(bytes.NewReader(maps)); lines.Scan(); {
		_, path, ok := strings.Cut(lines.Text(), "/")
		if ok && strings.HasPrefix(filepath.Base(path), name) {
			return filepath.Dir("/" + path)
		}
	}
	return ""
}
