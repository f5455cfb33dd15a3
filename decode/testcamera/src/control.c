#define _GNU_SOURCE
#include "camera.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static handle handles[MOST_OPEN];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

handle *find(int fd)
{
	for (int i = 0; i < MOST_OPEN; i++)
		if (handles[i].used && handles[i].fd == fd)
			return &handles[i];
	return NULL;
}

static int fail(int error)
{
	errno = error;
	return -1;
}

int open_camera(const char *path, int flags)
{
	device d;
	if (!describe(path, &d))
		return fail(ENOENT);
	if (d.open_error)
		return fail(d.open_error);
	int fd = (int)syscall(SYS_memfd_create, "testcamera", MFD_CLOEXEC);
	pthread_mutex_lock(&lock);
	handle *h = handles;
	while (h < handles + MOST_OPEN && h->used)
		h++;
	if (fd < 0 || h == handles + MOST_OPEN) {
		pthread_mutex_unlock(&lock);
		return fail(EMFILE);
	}
	*h = (handle){.used = 1, .fd = fd, .nonblock = flags & O_NONBLOCK, .plug = d.plug, .description = -1, .output = -1};
	strncpy(h->path, path, sizeof h->path - 1);
	if (d.takes_count)
		open_output(h);
	if (d.count) {
		h->format = d.modes[0].format;
		h->width = d.modes[0].width;
		h->height = d.modes[0].height;
		h->interval = d.modes[0].interval[0];
	}
	pthread_mutex_unlock(&lock);
	return fd;
}

void close_camera(handle *h)
{
	pthread_mutex_lock(&lock);
	if (h->memory)
		munmap(h->memory, h->size * (size_t)h->buffers);
	if (h->output >= 0) {
		syscall(SYS_close, h->output);
		syscall(SYS_close, h->description);
	}
	h->used = 0;
	pthread_mutex_unlock(&lock);
}

static int fits(const mode *m, uint32_t format, int w, int h)
{
	if (m->format != format)
		return 0;
	if (m->largest_width)
		return w >= m->width && h >= m->height && w <= m->largest_width && h <= m->largest_height;
	return w == m->width && h == m->height;
}

static const mode *mode_of(const device *d, uint32_t format, int w, int h)
{
	for (int i = 0; i < d->count; i++)
		if (fits(&d->modes[i], format, w, h))
			return &d->modes[i];
	return NULL;
}

static int capability(const device *d, struct v4l2_capability *c)
{
	memset(c, 0, sizeof *c);
	strcpy((char *)c->driver, "testcamera");
	strcpy((char *)c->card, d->name);
	strcpy((char *)c->bus_info, "usb-test-1");
	c->capabilities = V4L2_CAP_VIDEO_CAPTURE | V4L2_CAP_META_CAPTURE | V4L2_CAP_STREAMING | V4L2_CAP_DEVICE_CAPS;
	if (d->takes_count) {
		c->device_caps = V4L2_CAP_VIDEO_OUTPUT | V4L2_CAP_READWRITE;
		c->capabilities = c->device_caps | V4L2_CAP_VIDEO_CAPTURE | V4L2_CAP_DEVICE_CAPS;
		return 0;
	}
	c->device_caps = V4L2_CAP_STREAMING | (d->no_capture ? V4L2_CAP_META_CAPTURE : V4L2_CAP_VIDEO_CAPTURE);
	return 0;
}

static int enumerate_formats(const device *d, struct v4l2_fmtdesc *f)
{
	uint32_t seen[MOST_MODES], count = 0;
	for (int i = 0; i < d->count; i++) {
		uint32_t known = 0;
		for (uint32_t k = 0; k < count; k++)
			known |= seen[k] == d->modes[i].format;
		if (!known)
			seen[count++] = d->modes[i].format;
	}
	if (f->index >= count || d->no_capture)
		return fail(EINVAL);
	f->pixelformat = seen[f->index];
	f->flags = f->pixelformat == V4L2_PIX_FMT_MJPEG || f->pixelformat == V4L2_PIX_FMT_H264 ? V4L2_FMT_FLAG_COMPRESSED : 0;
	memcpy(f->description, &f->pixelformat, 4);
	f->description[4] = 0;
	return 0;
}

static int enumerate_sizes(const device *d, struct v4l2_frmsizeenum *s)
{
	uint32_t index = s->index;
	for (int i = 0; i < d->count; i++) {
		const mode *m = &d->modes[i];
		if (m->format != s->pixel_format || index--)
			continue;
		s->type = V4L2_FRMSIZE_TYPE_DISCRETE;
		s->discrete.width = (uint32_t)m->width;
		s->discrete.height = (uint32_t)m->height;
		if (m->largest_width) {
			s->type = V4L2_FRMSIZE_TYPE_STEPWISE;
			s->stepwise = (struct v4l2_frmsize_stepwise){(uint32_t)m->width, (uint32_t)m->largest_width, 2,
			                                             (uint32_t)m->height, (uint32_t)m->largest_height, 2};
		}
		return 0;
	}
	return fail(EINVAL);
}

static int enumerate_intervals(const device *d, struct v4l2_frmivalenum *v)
{
	const mode *m = mode_of(d, v->pixel_format, (int)v->width, (int)v->height);
	if (!m || d->no_rates || v->index >= (m->range ? 1u : (uint32_t)m->rates))
		return fail(EINVAL);
	v->type = V4L2_FRMIVAL_TYPE_DISCRETE;
	v->discrete = m->interval[v->index];
	if (m->range) {
		v->type = V4L2_FRMIVAL_TYPE_CONTINUOUS;
		v->stepwise = (struct v4l2_frmival_stepwise){m->interval[0], m->interval[1], {1, 1}};
	}
	return 0;
}

static void tell_format(const handle *h, const device *d, struct v4l2_format *f)
{
	struct v4l2_pix_format *p = &f->fmt.pix;
	memset(p, 0, sizeof *p);
	p->width = (uint32_t)h->width;
	p->height = (uint32_t)h->height;
	p->pixelformat = h->format;
	p->field = V4L2_FIELD_NONE;
	p->sizeimage = (uint32_t)picture_size(h->format, h->width, h->height);
	p->colorspace = d->colourspace ? d->colourspace : V4L2_COLORSPACE_SRGB;
	p->quantization = d->quantization;
	p->priv = V4L2_PIX_FMT_PRIV_MAGIC;
}

// Other handles of the device may not change settings while one has buffers.
static int taken(const handle *h)
{
	for (int i = 0; i < MOST_OPEN; i++)
		if (handles[i].used && &handles[i] != h && handles[i].owner && !strcmp(handles[i].path, h->path))
			return 1;
	return 0;
}

static int set_format(handle *h, const device *d, struct v4l2_format *f)
{
	if (d->format_error)
		return fail(d->format_error);
	if (d->takes_count)
		return set_output(h, d, f);
	if (h->buffers || taken(h))
		return fail(EBUSY);
	const mode *m = mode_of(d, f->fmt.pix.pixelformat, (int)f->fmt.pix.width, (int)f->fmt.pix.height);
	for (int i = 0; !m && i < d->count; i++) // a driver picks the nearest
		if (d->modes[i].format == f->fmt.pix.pixelformat)
			m = &d->modes[i];
	if (!m && d->count)
		m = &d->modes[0];
	if (!m)
		return fail(EINVAL);
	int as_asked = fits(m, f->fmt.pix.pixelformat, (int)f->fmt.pix.width, (int)f->fmt.pix.height);
	h->format = m->format;
	h->width = as_asked ? (int)f->fmt.pix.width : m->width;
	h->height = as_asked ? (int)f->fmt.pix.height : m->height;
	h->interval = m->interval[m->range ? m->rates - 1 : 0];
	tell_format(h, d, f);
	return 0;
}

static int shorter(struct v4l2_fract a, struct v4l2_fract b)
{
	return (uint64_t)a.numerator * b.denominator < (uint64_t)b.numerator * a.denominator;
}

static int parameters(handle *h, const device *d, struct v4l2_streamparm *p, int change)
{
	struct v4l2_fract asked = p->parm.capture.timeperframe;
	const mode *m = mode_of(d, h->format, h->width, h->height);
	for (int i = 0; change && m && !d->fixed_rate && i < m->rates; i++)
		if (!shorter(asked, m->interval[i]) && !shorter(m->interval[i], asked))
			h->interval = asked;
	if (change && m && m->range && !shorter(asked, m->interval[0]) && !shorter(m->interval[1], asked))
		h->interval = asked;
	memset(&p->parm, 0, sizeof p->parm);
	p->parm.capture.capability = d->fixed_rate ? 0 : V4L2_CAP_TIMEPERFRAME;
	p->parm.capture.timeperframe = h->interval;
	return 0;
}

static int request_buffers(handle *h, struct v4l2_requestbuffers *r)
{
	if (h->streaming || taken(h))
		return fail(EBUSY);
	if (h->memory)
		munmap(h->memory, h->size * (size_t)h->buffers);
	h->memory = NULL;
	h->queued = h->ready = h->buffers = h->owner = 0;
	if (!r->count)
		return 0;
	r->count = r->count > MOST_BUFFERS ? MOST_BUFFERS : r->count;
	h->size = (picture_size(h->format, h->width, h->height) + 4095) / 4096 * 4096;
	size_t all = h->size * r->count;
	if (ftruncate(h->fd, (off_t)all))
		return -1;
	h->memory = mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_SHARED, h->fd, 0);
	if (h->memory == MAP_FAILED) {
		h->memory = NULL;
		return -1;
	}
	h->buffers = (int)r->count;
	h->owner = 1;
	return 0;
}

static int query_buffer(handle *h, struct v4l2_buffer *b)
{
	if (b->index >= (uint32_t)h->buffers)
		return fail(EINVAL);
	b->length = (uint32_t)(h->format == V4L2_PIX_FMT_MJPEG || h->format == V4L2_PIX_FMT_H264 ? h->size : picture_size(h->format, h->width, h->height));
	b->m.offset = (uint32_t)(b->index * h->size);
	return 0;
}

static int queue_buffer(handle *h, const struct v4l2_buffer *b)
{
	if (b->index >= (uint32_t)h->buffers || h->queued == h->buffers)
		return fail(EINVAL);
	h->queue[h->queued++] = (int)b->index;
	return 0;
}

static int take_buffer(handle *h, struct v4l2_buffer *b)
{
	if (!h->streaming)
		return fail(EINVAL);
	if (!h->ready)
		return fail(EAGAIN);
	*b = h->done[0];
	h->ready--;
	memmove(h->done, h->done + 1, (size_t)h->ready * sizeof *h->done);
	return 0;
}

static int stream(handle *h, const device *d, int on)
{
	if (on && d->stream_error)
		return fail(d->stream_error);
	if (on && !h->buffers)
		return fail(EINVAL);
	h->streaming = on;
	h->queued = on ? h->queued : 0;
	h->ready = 0;
	h->next = 0;
	h->began = nanoseconds(0) + 20000000; // a sensor wakes up
	return 0;
}

static int answer(handle *h, const device *d, unsigned long request, void *a)
{
	struct v4l2_input *input = a;
	switch (request) {
	case VIDIOC_QUERYCAP:
		return capability(d, a);
	case VIDIOC_G_INPUT:
		*(int *)a = 0;
		return 0;
	case VIDIOC_ENUMINPUT:
		if (input->index)
			return fail(EINVAL);
		memset(input, 0, sizeof *input);
		strcpy((char *)input->name, "Camera 1");
		input->type = V4L2_INPUT_TYPE_CAMERA;
		return 0;
	case VIDIOC_ENUM_FMT:
		return enumerate_formats(d, a);
	case VIDIOC_ENUM_FRAMESIZES:
		return enumerate_sizes(d, a);
	case VIDIOC_ENUM_FRAMEINTERVALS:
		return enumerate_intervals(d, a);
	case VIDIOC_G_FMT:
		tell_format(h, d, a);
		return 0;
	case VIDIOC_S_FMT:
		return set_format(h, d, a);
	case VIDIOC_G_PARM:
		return parameters(h, d, a, 0);
	case VIDIOC_S_PARM:
		return parameters(h, d, a, 1);
	case VIDIOC_REQBUFS:
		return request_buffers(h, a);
	case VIDIOC_QUERYBUF:
		return query_buffer(h, a);
	case VIDIOC_QBUF:
		return queue_buffer(h, a);
	case VIDIOC_DQBUF:
		if (d->dequeue_error)
			return fail(d->dequeue_error);
		advance(h, d);
		return take_buffer(h, a);
	case VIDIOC_STREAMON:
		return stream(h, d, 1);
	case VIDIOC_STREAMOFF:
		return stream(h, d, 0);
	}
	return fail(ENOTTY);
}

static void nap(void)
{
	const struct timespec moment = {0, 1000000};
	nanosleep(&moment, NULL);
}

int control(handle *h, unsigned long request, void *argument)
{
	for (;;) {
		device d;
		if (!describe_open(h, &d))
			return fail(ENODEV);
		pthread_mutex_lock(&lock);
		int r = answer(h, &d, request, argument);
		pthread_mutex_unlock(&lock);
		if (r == 0 || request != VIDIOC_DQBUF || errno != EAGAIN || h->nonblock)
			return r;
		nap();
	}
}

int wait_for(handle *h, int timeout)
{
	for (int64_t until = nanoseconds(0) + timeout * INT64_C(1000000);;) {
		device d;
		if (!describe_open(h, &d) || !h->streaming)
			return POLLERR;
		pthread_mutex_lock(&lock);
		advance(h, &d);
		int ready = h->ready;
		pthread_mutex_unlock(&lock);
		if (ready)
			return POLLIN | POLLRDNORM;
		if (timeout >= 0 && nanoseconds(0) >= until)
			return 0;
		nap();
	}
}
