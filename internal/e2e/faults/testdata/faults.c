// Runs a program one or two of whose calls that change a folder fail:
//
//	faults FOLDER LOG POSITION[,POSITION] ERRNO PROGRAM ARGS...
//
// Calls are counted from 1 over the program and all processes that it starts, whether libc makes
// them or Go; position 0 fails none. LOG gets a line for each: its name and its path. The exit code
// is the program's, or 99 where the kernel does not do this.
//
// A filter of system calls (seccomp) asks this process what becomes of each. A close that fails
// leaves the descriptor open, unlike a real one.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FD, PATH, AT, OPEN, OPENAT };

// The calls, with the argument that says what they change, and how.
static const struct {
	const char *name;
	int number, arg, how;
} calls[] = {
	{"write", SYS_write, 0, FD},
	{"writev", SYS_writev, 0, FD},
	{"pwrite", SYS_pwrite64, 0, FD},
	{"pwritev", SYS_pwritev, 0, FD},
	{"copy_file_range", SYS_copy_file_range, 2, FD},
	{"sendfile", SYS_sendfile, 0, FD},
	{"fallocate", SYS_fallocate, 0, FD},
	{"ftruncate", SYS_ftruncate, 0, FD},
	{"fsync", SYS_fsync, 0, FD},
	{"fdatasync", SYS_fdatasync, 0, FD},
	{"close", SYS_close, 0, FD},
	{"openat", SYS_openat, 1, OPENAT},
	{"mkdirat", SYS_mkdirat, 1, AT},
	{"linkat", SYS_linkat, 3, AT},
	{"renameat", SYS_renameat, 3, AT},
	{"renameat2", SYS_renameat2, 3, AT},
	{"unlinkat", SYS_unlinkat, 1, AT},
#ifdef SYS_open
	{"open", SYS_open, 0, OPEN},
	{"mkdir", SYS_mkdir, 0, PATH},
	{"link", SYS_link, 1, PATH},
	{"rename", SYS_rename, 1, PATH},
	{"unlink", SYS_unlink, 0, PATH},
#endif
};
enum { COUNT = sizeof calls / sizeof *calls };

static void check(int ok, const char *what) {
	if (ok) return;
	fprintf(stderr, "faults: %s: %s\n", what, strerror(errno));
	exit(99);
}

static int ask_for_calls(void) {
	struct sock_filter code[2 * COUNT + 2];
	int n = 0;
	code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	for (int i = 0; i < COUNT; i++) {
		code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)calls[i].number, 0, 1);
		code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF);
	}
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog program = {(unsigned short)n, code};
	check(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs");
	int fd = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
	check(fd >= 0, "seccomp");
	return fd;
}

union control {
	struct cmsghdr head;
	char bytes[CMSG_SPACE(sizeof(int))];
};

static void send_fd(int socket, int fd) {
	char byte = 0;
	union control control = {{CMSG_LEN(sizeof fd), SOL_SOCKET, SCM_RIGHTS}};
	struct iovec part = {&byte, 1};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
	memcpy(CMSG_DATA(&control.head), &fd, sizeof fd);
	check(sendmsg(socket, &message, 0) == 1, "sendmsg");
}

static int receive_fd(int socket) {
	char byte;
	int fd = -1;
	union control control;
	struct iovec part = {&byte, 1};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
	if (recvmsg(socket, &message, MSG_CMSG_CLOEXEC) != 1) exit(99); // the child has said why
	memcpy(&fd, CMSG_DATA(&control.head), sizeof fd);
	return fd;
}

static void read_link(char *to, size_t size, const char *format, unsigned pid, int fd) {
	char name[64];
	snprintf(name, sizeof name, format, pid, fd);
	ssize_t n = readlink(name, to, size - 1);
	to[n < 0 ? 0 : n] = 0;
}

// path_of finds the path that a call changes; "" if it changes none.
static void path_of(const struct seccomp_notif *r, int call, char *path, size_t size) {
	const __u64 *args = r->data.args;
	int arg = calls[call].arg, how = calls[call].how;
	path[0] = 0;
	if (how == FD) return read_link(path, size, "/proc/%u/fd/%d", r->pid, (int)args[arg]);
	if ((how == OPEN || how == OPENAT) && !(args[arg + 1] & (O_WRONLY | O_RDWR | O_CREAT))) return;
	char text[4096] = "";
	for (size_t n = 0; n < sizeof text - 1; n++) { // a string may end before a page that is not there
		struct iovec to = {text + n, 1}, from = {(void *)(args[arg] + n), 1};
		if (process_vm_readv((pid_t)r->pid, &to, 1, &from, 1, 0) != 1 || !text[n]) break;
	}
	if (text[0] != '/') {
		int folder = how == PATH || how == OPEN ? AT_FDCWD : (int)args[arg - 1];
		read_link(path, size, folder == AT_FDCWD ? "/proc/%u/cwd" : "/proc/%u/fd/%d", r->pid, folder);
		strncat(path, "/", size - strlen(path) - 1);
	}
	strncat(path, text, size - strlen(path) - 1);
}

int main(int argc, char **argv) {
	if (argc < 6) return 99;
	const char *folder = argv[1];
	int log = open(argv[2], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666), ends[2];
	const char *comma = strchr(argv[3], ',');
	long position = atol(argv[3]), second = comma ? atol(comma + 1) : 0, seen = 0;
	int error = atoi(argv[4]);
	check(log >= 0, argv[2]);
	check(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), "socketpair");
	pid_t child = fork();
	check(child >= 0, "fork");
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		int fd = ask_for_calls(); // from here on, no call of the list before the other end listens
		send_fd(ends[1], fd);
		syscall(SYS_ioctl, fd, FIOCLEX);
		execvp(argv[5], argv + 5);
		_exit(99);
	}
	close(ends[1]);
	int listener = receive_fd(ends[0]);
	for (;;) {
		struct pollfd wait = {listener, POLLIN, 0};
		if (poll(&wait, 1, -1) < 0 && errno == EINTR) continue;
		if (!(wait.revents & POLLIN)) break; // all processes have ended
		struct seccomp_notif request = {0};
		if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &request)) continue;
		struct seccomp_notif_resp answer = {.id = request.id, .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE};
		char path[8192];
		int call = 0;
		while (call < COUNT - 1 && calls[call].number != request.data.nr) call++;
		path_of(&request, call, path, sizeof path);
		size_t length = strlen(folder);
		if (!strncmp(path, folder, length) && (!path[length] || path[length] == '/')) {
			dprintf(log, "%s %s\n", calls[call].name, path[length] ? path + length + 1 : ".");
			if (++seen == position || seen == second) answer.flags = 0, answer.error = -error;
		}
		ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
	}
	int status;
	check(waitpid(child, &status, 0) == child, "waitpid");
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
