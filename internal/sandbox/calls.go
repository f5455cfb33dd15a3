package sandbox

import (
	"os"
	"runtime"
	"slices"

	seccomp "github.com/elastic/go-seccomp-bpf"
	"github.com/elastic/go-seccomp-bpf/arch"
	"golang.org/x/sys/unix"
)

// System calls that a child makes. All others fail with EPERM: execve, fork, ptrace, kill, mount,
// bpf, io_uring and every call that is younger than this list. Names that an architecture does not
// have are left out.
var (
	// on descriptors and names, within Landlock's rules
	fileCalls = []string{
		"open", "openat", "openat2", "close", "close_range", "read", "readv", "pread64", "preadv", "preadv2",
		"write", "writev", "pwrite64", "pwritev", "pwritev2", "lseek", "flock", "dup", "dup2", "dup3", "pipe", "pipe2",
		"stat", "fstat", "lstat", "newfstatat", "statx", "statfs", "fstatfs", "access", "faccessat", "faccessat2",
		"readlink", "readlinkat", "getdents", "getdents64", "getcwd", "ftruncate", "fallocate", "fadvise64", "fsync", "fdatasync",
		"sync_file_range", "sendfile", "copy_file_range", "splice", "memfd_create", "umask",
		"poll", "ppoll", "select", "pselect6", "epoll_create", "epoll_create1", "epoll_ctl", "epoll_wait", "epoll_pwait", "epoll_pwait2",
		"eventfd", "eventfd2",
	}
	memoryCalls = []string{
		"brk", "mmap", "munmap", "mremap", "mprotect", "madvise", "mlock", "mlock2", "munlock", "msync", "mincore", "membarrier",
		"mbind", "get_mempolicy", "set_mempolicy",
	}
	threadCalls = []string{
		"futex", "futex_waitv", "set_robust_list", "get_robust_list", "set_tid_address", "rseq", "arch_prctl", "prctl", "getcpu",
		"sched_yield", "sched_getaffinity", "sched_setaffinity", "sched_getparam", "sched_setparam", "sched_getscheduler",
		"sched_setscheduler", "sched_get_priority_max", "sched_get_priority_min", "getpriority", "setpriority",
		"rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "rt_sigpending", "rt_sigtimedwait", "rt_sigsuspend", "sigaltstack",
		"restart_syscall", "exit", "exit_group",
	}
	clockCalls = []string{
		"clock_gettime", "clock_getres", "clock_nanosleep", "nanosleep", "gettimeofday", "time", "times", "alarm", "getitimer", "setitimer",
		"timer_create", "timer_settime", "timer_gettime", "timer_getoverrun", "timer_delete",
		"timerfd_create", "timerfd_settime", "timerfd_gettime",
	}
	selfCalls = []string{
		"getpid", "getppid", "gettid", "getpgrp", "getuid", "geteuid", "getgid", "getegid", "getgroups", "getresuid", "getresgid",
		"uname", "sysinfo", "getrusage", "getrlimit", "getrandom", "capget",
	}
	// with Policy.Folders; Landlock has no rules for modes and times, so these stay as they are
	folderCalls = []string{
		"mkdir", "mkdirat", "rename", "renameat", "renameat2", "unlink", "unlinkat", "rmdir",
	}
	// with Accept, on sockets that are open
	socketCalls = []string{
		"accept", "accept4", "shutdown", "recvfrom", "recvmsg", "recvmmsg", "sendto", "sendmsg", "sendmmsg",
		"getsockname", "getpeername", "getsockopt", "setsockopt",
	}
	// with Peer, on new ones
	peerCalls = []string{"bind", "connect"}
)

// Commands of fcntl and ioctl. Others have the kernel send signals (F_SETOWN), or type into the
// user's terminal (TIOCSTI).
var (
	fcntlCommands = []uint64{
		unix.F_DUPFD, unix.F_GETFD, unix.F_SETFD, unix.F_GETFL, unix.F_SETFL, unix.F_GETLK, unix.F_SETLK, unix.F_SETLKW,
		unix.F_OFD_GETLK, unix.F_OFD_SETLK, unix.F_OFD_SETLKW, unix.F_DUPFD_CLOEXEC, unix.F_SETPIPE_SZ, unix.F_GETPIPE_SZ,
		unix.F_ADD_SEALS, unix.F_GET_SEALS,
	}
	ioctlCommands = []uint64{unix.TCGETS, unix.TCGETS2, unix.TIOCGWINSZ, unix.TIOCINQ}
)

// deviceBit is set in the commands of cameras ('V'), NVIDIA's driver ('F') and Windows' ('G'), and
// not in commands of a terminal ('T').
const deviceBit = 0x200

// plainBits are not set in the commands of NVIDIA's unified memory, numbers from 1 on.
const plainBits = 0xffffff00

// absent are calls for which programs have another way if the kernel lacks them.
var absent = []string{"clone3"}

// closeCalls closes system calls.
func closeCalls(p Policy) error {
	policy, err := callsOf(p)
	if err != nil {
		return err
	}
	runtime.LockOSThread() // the filter needs the no_new_privs of its thread
	defer runtime.UnlockOSThread()
	return seccomp.LoadFilter(seccomp.Filter{NoNewPrivs: true, Flag: seccomp.FilterFlagTSync, Policy: policy})
}

// callsOf returns the filter of a policy.
func callsOf(p Policy) (seccomp.Policy, error) {
	here, err := arch.GetInfo("")
	if err != nil {
		return seccomp.Policy{}, err
	}
	known := func(names ...string) []string {
		return slices.DeleteFunc(names, func(name string) bool { _, ok := here.SyscallNames[name]; return !ok })
	}
	calls := slices.Concat(fileCalls, memoryCalls, threadCalls, clockCalls, selfCalls)
	if len(p.Folders) > 0 {
		calls = append(calls, folderCalls...)
	}
	if p.Network >= Accept {
		calls = append(calls, socketCalls...)
	}
	if p.Network >= Peer {
		calls = append(calls, peerCalls...)
	}
	conditional := []seccomp.NameWithConditions{
		{Name: "clone", Conditions: []seccomp.Condition{{Argument: 0, Operation: seccomp.BitsSet, Value: unix.CLONE_THREAD}}},
		{Name: "tgkill", Conditions: []seccomp.Condition{{Argument: 0, Operation: seccomp.Equal, Value: uint64(os.Getpid())}}},
		{Name: "prlimit64", Conditions: []seccomp.Condition{{Argument: 0, Operation: seccomp.Equal, Value: 0}}}, // its own
	}
	for name, commands := range map[string][]uint64{"fcntl": fcntlCommands, "ioctl": ioctlCommands} {
		for _, command := range commands {
			conditional = append(conditional, seccomp.NameWithConditions{
				Name: name, Conditions: []seccomp.Condition{{Argument: 1, Operation: seccomp.Equal, Value: command}},
			})
		}
	}
	if len(p.Devices) > 0 {
		conditional = append(conditional, seccomp.NameWithConditions{
			Name: "ioctl", Conditions: []seccomp.Condition{{Argument: 1, Operation: seccomp.BitsSet, Value: deviceBit}},
		}, seccomp.NameWithConditions{
			Name: "ioctl", Conditions: []seccomp.Condition{{Argument: 1, Operation: seccomp.BitsNotSet, Value: plainBits}},
		})
	}
	for _, family := range []uint64{unix.AF_INET, unix.AF_INET6} {
		socket := []seccomp.Condition{{Argument: 0, Operation: seccomp.Equal, Value: family}}
		switch {
		case p.Network == Peer:
			socket = append(socket, // and not SOCK_RAW, which has both bits
				seccomp.Condition{Argument: 1, Operation: seccomp.BitsSet, Value: unix.SOCK_DGRAM},
				seccomp.Condition{Argument: 1, Operation: seccomp.BitsNotSet, Value: unix.SOCK_STREAM})
		case p.Network < Peer:
			continue
		}
		conditional = append(conditional, seccomp.NameWithConditions{Name: "socket", Conditions: socket})
	}
	return seccomp.Policy{
		DefaultAction: seccomp.ActionErrno, // EPERM
		Syscalls: []seccomp.SyscallGroup{
			{Action: seccomp.ActionAllow, Names: known(calls...), NamesWithCondtions: conditional},
			{Action: seccomp.ActionErrno | seccomp.Action(unix.ENOSYS), Names: known(absent...)},
		},
	}, nil
}
