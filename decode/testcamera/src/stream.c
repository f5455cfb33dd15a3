#include "camera.h"
#include <time.h>

int64_t nanoseconds(int wall)
{
	struct timespec t;
	clock_gettime(wall ? CLOCK_REALTIME : CLOCK_MONOTONIC, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static struct timeval stamp(const device *d, int64_t at)
{
	if (d->clock == 2)
		return (struct timeval){0, 0};
	if (d->clock == 1)
		at += nanoseconds(1) - nanoseconds(0);
	return (struct timeval){at / 1000000000, at % 1000000000 / 1000};
}

// A picture for which no buffer waits is lost.
static void deliver(handle *h, const device *d, long n, int64_t at)
{
	if (!h->queued || d->silent)
		return;
	int index = h->queue[0];
	for (int i = 1; i < h->queued; i++)
		h->queue[i - 1] = h->queue[i];
	h->queued--;
	int damaged = d->damage && n % d->damage == d->damage - 1;
	struct v4l2_buffer *b = &h->done[h->ready++];
	*b = (struct v4l2_buffer){
		.index = (uint32_t)index,
		.type = V4L2_BUF_TYPE_VIDEO_CAPTURE,
		.bytesused = (uint32_t)draw(h->memory + (size_t)index * h->size, h->format, h->width, h->height, n, damaged),
		.flags = V4L2_BUF_FLAG_MAPPED | V4L2_BUF_FLAG_DONE | V4L2_BUF_FLAG_TIMESTAMP_MONOTONIC,
		.field = V4L2_FIELD_NONE,
		.sequence = (uint32_t)n,
		.timestamp = stamp(d, at),
		.memory = V4L2_MEMORY_MMAP,
		.length = (uint32_t)h->size,
	};
}

int64_t advance(handle *h, const device *d)
{
	int64_t now = nanoseconds(0), period = h->interval.numerator * INT64_C(1000000000) / h->interval.denominator;
	// Skip pictures that would find no buffer.
	int64_t due = (now - h->began) / period;
	if (now >= h->began && due - h->next > MOST_BUFFERS)
		h->next = due - MOST_BUFFERS;
	for (; h->began + h->next * period <= now; h->next++)
		deliver(h, d, (long)h->next, h->began + h->next * period);
	return h->began + h->next * period - now;
}
