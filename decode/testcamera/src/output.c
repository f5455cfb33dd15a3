#define _GNU_SOURCE
#include "camera.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static size_t output_size(uint32_t format, int w, int h)
{
	return format == V4L2_PIX_FMT_YUYV ? (size_t)w * (size_t)h * 2 : (size_t)w * (size_t)h * 3 / 2;
}

// As v4l2loopback does: a format that it does not take becomes its first.
int set_output(handle *h, const device *d, struct v4l2_format *f)
{
	struct v4l2_pix_format *p = &f->fmt.pix;
	int known = 0;
	if (f->type != V4L2_BUF_TYPE_VIDEO_OUTPUT) {
		errno = EINVAL;
		return -1;
	}
	for (int i = 0; i < d->takes_count; i++)
		known |= d->takes[i] == p->pixelformat;
	if (!known)
		p->pixelformat = d->takes[0];
	if (d->keeps_width) {
		p->width = (uint32_t)d->keeps_width;
		p->height = (uint32_t)d->keeps_height;
	}
	h->format = p->pixelformat;
	h->width = (int)p->width;
	h->height = (int)p->height;
	p->bytesperline = p->width * (p->pixelformat == V4L2_PIX_FMT_YUYV ? 2 : 1);
	p->sizeimage = (uint32_t)output_size(h->format, h->width, h->height);
	char line[64];
	int n = snprintf(line, sizeof line, "%.4s %dx%d\n", (const char *)&h->format, h->width, h->height);
	return syscall(SYS_write, h->output, line, n) == n ? 0 : -1;
}

void open_output(handle *h)
{
	char name[4096];
	int n = snprintf(name, sizeof name, "%s/%s", getenv("VIDFILTER_TESTCAMERA"), h->path + 5);
	h->description = (int)syscall(SYS_openat, AT_FDCWD, name, O_RDONLY | O_CLOEXEC);
	snprintf(name + n, sizeof name - (size_t)n, "-pictures");
	h->output = (int)syscall(SYS_openat, AT_FDCWD, name, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
}

long write_output(handle *h, const void *picture, size_t size)
{
	device d;
	if (!describe_open(h, &d)) {
		errno = ENODEV;
		return -1;
	}
	if (!d.takes_count || size != output_size(h->format, h->width, h->height)) {
		errno = EINVAL;
		return -1;
	}
	return syscall(SYS_write, h->output, picture, size);
}
