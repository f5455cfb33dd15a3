// Preloaded into a program of many shared libraries, whose linking takes most of a short run. It
// stops before main, and runs main in a copy of the process for each message on descriptor 3: a
// folder and arguments, each ended by a NUL, with three descriptors for the standard streams. The
// answer is the status of wait.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

typedef int entry(int, char **, char **);
typedef void call(void);

static char text[1 << 17], *args[1 << 12];

int __libc_start_main(entry *program, int argc, char **argv, call *init, call *fini, call *loader, void *stack);
int __libc_start_main(entry *program, int argc, char **argv, call *init, call *fini, call *loader, void *stack)
{
	typeof(__libc_start_main) *start = dlsym(RTLD_NEXT, "__libc_start_main");
	for (int streams[3], status;;) {
		union {
			struct cmsghdr header;
			char bytes[CMSG_SPACE(sizeof streams)];
		} control;
		struct iovec all = {text, sizeof text - 1};
		struct msghdr message = {.msg_iov = &all, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
		ssize_t n = recvmsg(3, &message, 0);
		if (n <= 0)
			_exit(n < 0); // the test has ended
		memcpy(streams, CMSG_DATA(&control.header), sizeof streams);
		pid_t child = fork();
		if (child == 0) {
			args[0] = argv[0];
			argc = 1;
			for (char *at = text + strlen(text) + 1; at < text + n && argc < (1 << 12) - 1; at += strlen(at) + 1)
				args[argc++] = at;
			for (int i = 0; i < 3; i++) {
				dup2(streams[i], i);
				close(streams[i]);
			}
			close(3);
			if (chdir(text))
				_exit(127);
			return start(program, argc, args, init, fini, loader, stack);
		}
		for (int i = 0; i < 3; i++)
			close(streams[i]);
		if (child < 0 || waitpid(child, &status, 0) != child || write(3, &status, sizeof status) != sizeof status)
			_exit(1);
	}
}
