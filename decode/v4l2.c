#include "v4l2.h"
#include <errno.h>
#include <fcntl.h>
#include <libavutil/pixfmt.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

enum { V4L2_MAJOR = 81 };

int vf_is_v4l2(const char *path, uint32_t *group)
{
	struct stat st;
	if (stat(path, &st) < 0)
		return -errno;
	*group = st.st_gid;
	return S_ISCHR(st.st_mode) && major(st.st_rdev) == V4L2_MAJOR;
}

int vf_v4l2_open(const char *path)
{
	int fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

void vf_v4l2_close(int fd)
{
	close(fd);
}

static int ask(int fd, unsigned long request, void *argument)
{
	int r;
	do
		r = ioctl(fd, request, argument);
	while (r < 0 && errno == EINTR);
	return r < 0 ? -errno : 0;
}

int vf_v4l2_device(int fd, vf_device *d)
{
	struct v4l2_capability c = {0};
	int err = ask(fd, VIDIOC_QUERYCAP, &c);
	if (err)
		return err;
	// A node may be one of several of its device: only its own capabilities count.
	uint32_t can = c.capabilities & V4L2_CAP_DEVICE_CAPS ? c.device_caps : c.capabilities;
	memcpy(d->name, c.card, sizeof c.card);
	d->name[sizeof c.card] = 0;
	d->type = can & V4L2_CAP_VIDEO_CAPTURE ? V4L2_BUF_TYPE_VIDEO_CAPTURE : V4L2_BUF_TYPE_VIDEO_CAPTURE_MPLANE;
	d->capture = (can & (V4L2_CAP_VIDEO_CAPTURE | V4L2_CAP_VIDEO_CAPTURE_MPLANE)) && (can & V4L2_CAP_STREAMING);
	return 0;
}

int vf_v4l2_format(int fd, uint32_t type, uint32_t index, uint32_t *fourcc)
{
	struct v4l2_fmtdesc f = {.index = index, .type = type};
	int err = ask(fd, VIDIOC_ENUM_FMT, &f);
	*fourcc = f.pixelformat;
	return err;
}

int vf_v4l2_size(int fd, uint32_t fourcc, uint32_t index, vf_size *s)
{
	struct v4l2_frmsizeenum e = {.index = index, .pixel_format = fourcc};
	int err = ask(fd, VIDIOC_ENUM_FRAMESIZES, &e);
	if (err)
		return err;
	if (e.type == V4L2_FRMSIZE_TYPE_DISCRETE)
		*s = (vf_size){0, e.discrete.width, e.discrete.height, 1, 1, e.discrete.width, e.discrete.height};
	else
		*s = (vf_size){1, e.stepwise.min_width, e.stepwise.min_height, e.stepwise.step_width, e.stepwise.step_height,
		               e.stepwise.max_width, e.stepwise.max_height};
	return 0;
}

int vf_v4l2_interval(int fd, uint32_t fourcc, uint32_t w, uint32_t h, uint32_t index, vf_interval *v)
{
	struct v4l2_frmivalenum e = {.index = index, .pixel_format = fourcc, .width = w, .height = h};
	int err = ask(fd, VIDIOC_ENUM_FRAMEINTERVALS, &e);
	if (err)
		return err;
	if (e.type == V4L2_FRMIVAL_TYPE_DISCRETE)
		*v = (vf_interval){0, e.discrete, e.discrete};
	else
		*v = (vf_interval){1, e.stepwise.min, e.stepwise.max};
	return 0;
}

static int space_of(uint32_t encoding)
{
	switch (encoding) {
	case V4L2_YCBCR_ENC_709:
	case V4L2_YCBCR_ENC_XV709:
		return AVCOL_SPC_BT709;
	case V4L2_YCBCR_ENC_BT2020:
	case V4L2_YCBCR_ENC_BT2020_CONST_LUM:
		return AVCOL_SPC_BT2020_NCL;
	default:
		return AVCOL_SPC_SMPTE170M;
	}
}

int vf_v4l2_colour(int fd, uint32_t type, int *space, int *range)
{
	struct v4l2_format f = {.type = type};
	int err = ask(fd, VIDIOC_G_FMT, &f);
	if (err)
		return err;
	int several = type == V4L2_BUF_TYPE_VIDEO_CAPTURE_MPLANE;
	uint32_t colours = several ? f.fmt.pix_mp.colorspace : f.fmt.pix.colorspace;
	uint32_t encoding = several ? f.fmt.pix_mp.ycbcr_enc : f.fmt.pix.ycbcr_enc;
	uint32_t quantization = several ? f.fmt.pix_mp.quantization : f.fmt.pix.quantization;
	if (encoding == V4L2_YCBCR_ENC_DEFAULT)
		encoding = V4L2_MAP_YCBCR_ENC_DEFAULT(colours);
	if (quantization == V4L2_QUANTIZATION_DEFAULT)
		quantization = V4L2_MAP_QUANTIZATION_DEFAULT(0, colours, encoding);
	*space = space_of(encoding);
	*range = quantization == V4L2_QUANTIZATION_FULL_RANGE ? AVCOL_RANGE_JPEG : AVCOL_RANGE_MPEG;
	return 0;
}

static int64_t microseconds(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return t.tv_sec * INT64_C(1000000) + t.tv_nsec / 1000;
}

int64_t vf_unix_now(void)
{
	return microseconds(CLOCK_REALTIME);
}

// A picture is at most so old, and hardly from the future.
static int near(int64_t stamp, int64_t now)
{
	return stamp > now - 10000000 && stamp < now + 1000000;
}

int64_t vf_unix_time(int64_t stamp)
{
	int64_t before, wall, after;
	int tries = 4;
	do { // two clocks cannot be read at once, only directly one after the other
		before = microseconds(CLOCK_MONOTONIC);
		wall = microseconds(CLOCK_REALTIME);
		after = microseconds(CLOCK_MONOTONIC);
	} while (after - before > 20 && --tries);
	if (near(stamp, after))
		return stamp + wall - (before + after) / 2;
	return near(stamp, wall) ? stamp : 0;
}
