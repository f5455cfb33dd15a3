#define _GNU_SOURCE
#include "camera.h"
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

// The functions of the C library that lead to a device. Anything but a camera goes on to the
// library's own.

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static int is_camera(const char *path)
{
	return path && !strncmp(path, "/dev/video", 10) && strlen(path) < PATH_LENGTH;
}

#define OPENS(name)                                                     \
	int name(const char *path, int flags, ...)                      \
	{                                                               \
		va_list more;                                           \
		va_start(more, flags);                                  \
		mode_t mode = va_arg(more, mode_t);                     \
		va_end(more);                                           \
		if (is_camera(path))                                    \
			return open_camera(path, flags);                \
		return NEXT(name)(path, flags, mode);                   \
	}

#define OPENS_AT(name)                                                  \
	int name(int at, const char *path, int flags, ...)              \
	{                                                               \
		va_list more;                                           \
		va_start(more, flags);                                  \
		mode_t mode = va_arg(more, mode_t);                     \
		va_end(more);                                           \
		if (is_camera(path))                                    \
			return open_camera(path, flags);                \
		return NEXT(name)(at, path, flags, mode);               \
	}

OPENS(open)
OPENS(open64)
OPENS_AT(openat)
OPENS_AT(openat64)

int __open_2(const char *path, int flags) { return open(path, flags, 0); }
int __open64_2(const char *path, int flags) { return open64(path, flags, 0); }

int close(int fd)
{
	handle *h = find(fd);
	if (h)
		close_camera(h);
	return NEXT(close)(fd);
}

int ioctl(int fd, unsigned long request, ...)
{
	va_list more;
	va_start(more, request);
	void *argument = va_arg(more, void *);
	va_end(more);
	handle *h = find(fd);
	if (h && h->output >= 0 && syscall(SYS_ioctl, fd, request, argument) < 0 && errno == EPERM)
		return -1; // a sandbox forbids it
	if (h)
		return control(h, request & 0xffffffff, argument);
	return NEXT(ioctl)(fd, request, argument);
}

ssize_t write(int fd, const void *data, size_t size)
{
	handle *h = find(fd);
	if (h)
		return write_output(h, data, size);
	return syscall(SYS_write, fd, data, size);
}

// A program that waits for a camera waits for that only.
int poll(struct pollfd fds[], nfds_t count, int timeout)
{
	handle *h = count == 1 ? find(fds->fd) : NULL;
	if (!h)
		return NEXT(poll)(fds, count, timeout);
	fds->revents = (short)(wait_for(h, timeout) & (POLLERR | POLLIN | POLLRDNORM));
	return fds->revents != 0;
}

#define STATS(name, kind)                                               \
	int name(const char *path, struct kind *s)                      \
	{                                                               \
		device d;                                               \
		if (!is_camera(path))                                   \
			return NEXT(name)(path, s);                     \
		if (!describe(path, &d)) {                              \
			errno = ENOENT;                                 \
			return -1;                                      \
		}                                                       \
		memset(s, 0, sizeof *s);                                \
		s->st_mode = S_IFCHR | 0660;                            \
		s->st_gid = getgid();                                   \
		s->st_rdev = makedev(81, path[10] - '0');               \
		return 0;                                               \
	}

STATS(stat, stat)
STATS(lstat, stat)
STATS(stat64, stat64)
STATS(lstat64, stat64)

int access(const char *path, int how)
{
	device d;
	if (!is_camera(path))
		return NEXT(access)(path, how);
	if (!describe(path, &d) || (d.open_error == EACCES && how != F_OK)) {
		errno = d.open_error ? EACCES : ENOENT;
		return -1;
	}
	return 0;
}
