#include "device.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/videodev2.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

int vf_output_open(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	struct v4l2_capability c;
	memset(&c, 0, sizeof c);
	int r = ioctl(fd, VIDIOC_QUERYCAP, &c);
	uint32_t can = c.capabilities & V4L2_CAP_DEVICE_CAPS ? c.device_caps : c.capabilities;
	if (r < 0 || !(can & V4L2_CAP_VIDEO_OUTPUT)) {
		close(fd);
		return -ENOTTY;
	}
	return fd;
}

int vf_output_format(int fd, uint32_t *fourcc, uint32_t *width, uint32_t *height, uint32_t *pitch, uint32_t *size, int hd)
{
	struct v4l2_format f;
	memset(&f, 0, sizeof f);
	f.type = V4L2_BUF_TYPE_VIDEO_OUTPUT;
	f.fmt.pix.width = *width;
	f.fmt.pix.height = *height;
	f.fmt.pix.pixelformat = *fourcc;
	f.fmt.pix.bytesperline = *pitch;
	f.fmt.pix.sizeimage = *size;
	f.fmt.pix.field = V4L2_FIELD_NONE;
	f.fmt.pix.colorspace = hd ? V4L2_COLORSPACE_REC709 : V4L2_COLORSPACE_SMPTE170M;
	if (ioctl(fd, VIDIOC_S_FMT, &f) < 0)
		return -errno;
	*fourcc = f.fmt.pix.pixelformat;
	*width = f.fmt.pix.width;
	*height = f.fmt.pix.height;
	*pitch = f.fmt.pix.bytesperline;
	*size = f.fmt.pix.sizeimage;
	return 0;
}

int vf_output_write(int fd, const void *picture, size_t size)
{
	ssize_t n;
	do
		n = write(fd, picture, size);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	return (size_t)n == size ? 0 : -EIO;
}

void vf_output_close(int fd) { close(fd); }
