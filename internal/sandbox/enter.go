package sandbox

import (
	"fmt"
	"os"
	"strings"

	seccomp "github.com/elastic/go-seccomp-bpf"
	"github.com/landlock-lsm/go-landlock/landlock"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// Kernel lists the features that the kernel, or the container around the process, offers.
type Kernel struct {
	Landlock int  `json:"landlock"` // the version of its ABI, or 0
	Seccomp  bool `json:"seccomp"`
}

// System returns the kernel's name and version.
func System() string {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return "Linux"
	}
	return unix.ByteSliceToString(u.Sysname[:]) + " " + unix.ByteSliceToString(u.Release[:])
}

// WantedABI is the version of Landlock's ABI with all that a policy uses: files since 1, truncation
// 3, TCP 4, ioctls of devices 5, signals and abstract sockets 6.
const WantedABI = 6

// Offered asks the kernel.
func Offered() Kernel {
	abi, err := ll.LandlockGetABIVersion()
	if err != nil {
		abi = 0
	}
	return Kernel{Landlock: abi, Seccomp: seccomp.Supported()}
}

// Missing lists in words the features that the kernel lacks, and that so stay open.
func (k Kernel) Missing() (all []string) {
	switch abi := k.Landlock; {
	case abi == 0:
		all = append(all, "no Landlock: every file of this user stays open")
	case abi < 3:
		all = append(all, fmt.Sprintf("Landlock %d: files may be truncated", abi))
	}
	if !k.Seccomp {
		all = append(all, "no seccomp: the network and other programs stay open")
		if k.Landlock < WantedABI {
			all = append(all, fmt.Sprintf("Landlock %d: signals to other processes stay open", k.Landlock))
		}
	}
	return all
}

func (k Kernel) String() string {
	parts := []string{"no_new_privs"}
	if k.Landlock > 0 {
		parts = append(parts, fmt.Sprintf("Landlock %d", k.Landlock))
	}
	if k.Seccomp {
		parts = append(parts, "seccomp")
	}
	return strings.Join(parts, ", ")
}

// Sealed is the operation by which a child announces to its parent that it is about to enter the
// sandbox.
const Sealed = "sealed"

// Enter closes every door that p does not name, for all threads of this process and for good. It
// returns the kernel's offer, which is used in full. Files that p names and that this user cannot
// reach are left out.
func Enter(p Policy) (Kernel, error) {
	k := Offered()
	if box := Inside(); box != nil {
		if err := box.Ask(Sealed, nil, nil); err != nil {
			return k, fmt.Errorf("enter the sandbox: %w", err)
		}
	}
	if err := limit(p.Memory); err != nil {
		return k, fmt.Errorf("limit the process: %w", err)
	}
	err := ll.AllThreadsPrctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
	if err == nil {
		err = closeFiles(p)
	}
	if err == nil && k.Seccomp {
		err = closeCalls(p)
	}
	if err != nil {
		return k, fmt.Errorf("enter the sandbox: %w", err)
	}
	return k, nil
}

// stacks is room in the limit for mapped memory that is hardly used: stacks of threads, the heaps
// of Go and of the C library.
const stacks = 1 << 30

// limit forbids core dumps, which would hold pictures, and bounds the memory beyond the data that
// the process has: the driver of a GPU maps far more than it uses.
func limit(memory int64) error {
	if err := lower(unix.RLIMIT_CORE, 0); err != nil || memory <= 0 {
		return err
	}
	pages, err := dataPages()
	if err != nil {
		return err
	}
	return lower(unix.RLIMIT_DATA, pages*uint64(os.Getpagesize())+uint64(memory)+stacks)
}

// dataPages returns the size of the data that RLIMIT_DATA counts.
func dataPages() (pages uint64, err error) {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, err
	}
	var other uint64 // size, resident, shared, text, lib, data
	_, err = fmt.Sscan(string(text), &other, &other, &other, &other, &other, &pages)
	return pages, err
}

// lower lowers a limit, also for good.
func lower(which int, most uint64) error {
	var now unix.Rlimit
	if err := unix.Getrlimit(which, &now); err != nil {
		return err
	}
	now.Max = min(now.Max, most)
	now.Cur = min(now.Cur, now.Max)
	return unix.Setrlimit(which, &now)
}

// Rights on files. A rule for a file must not name rights on folders.
const (
	readFile  = landlock.AccessFSSet(ll.AccessFSReadFile)
	readAll   = readFile | ll.AccessFSReadDir
	writeFile = readFile | ll.AccessFSWriteFile | ll.AccessFSTruncate
	device    = writeFile | ll.AccessFSIoctlDev
	makeFiles = writeFile | readAll | ll.AccessFSMakeReg | ll.AccessFSMakeDir | ll.AccessFSRemoveFile | ll.AccessFSRemoveDir
)

// closeFiles closes files, connections by TCP, and signals to others, if Landlock supports them.
func closeFiles(p Policy) error {
	var rules []landlock.Rule
	add := func(file, folder landlock.AccessFSSet, names []string) {
		for _, name := range names {
			st, err := os.Stat(name)
			if err != nil || nameless(name) {
				continue // opening it gives the reason that it cannot be reached
			}
			rights := file
			if st.IsDir() {
				rights = folder
			}
			// a kernel's ABI may lack some of them
			rules = append(rules, landlock.PathAccess(rights, name).IgnoreIfMissing())
		}
	}
	read := append(common[:len(common):len(common)], p.Read...)
	if p.Network >= Peer {
		read = append(read, resolving...)
	}
	add(readFile, readAll, read)
	add(writeFile, writeFile, p.Write)
	add(device, device|readAll, p.Devices)
	add(writeFile, makeFiles, p.Folders)
	for _, port := range p.Ports {
		rules = append(rules, landlock.ConnectTCP(port))
	}
	return landlock.V6.BestEffort().Restrict(rules...)
}

// nameless reports whether a name, such as /dev/fd/0, leads to a pipe or a socket that no folder
// holds. Those are open to the process that has them, and Landlock has no rules for them.
func nameless(name string) bool {
	var st unix.Statfs_t
	if unix.Statfs(name, &st) != nil {
		return false
	}
	return st.Type == unix.PIPEFS_MAGIC || st.Type == unix.SOCKFS_MAGIC || st.Type == unix.ANON_INODE_FS_MAGIC
}
