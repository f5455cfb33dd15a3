#ifndef VIDFILTER_DECODE_V4L2_H
#define VIDFILTER_DECODE_V4L2_H
#include <linux/videodev2.h>
#include <stdint.h>

// All calls go through the C library, so that tests can interpose cameras. Failures return -errno.

// The kind of a path: 1 for a V4L2 device, 0 for anything else. group gets the group that may open
// it beside its owner.
int vf_is_v4l2(const char *path, uint32_t *group);
int vf_v4l2_open(const char *path);
void vf_v4l2_close(int fd);

typedef struct {
	char name[33];
	int capture; // it gives pictures, in one of the ways that FFmpeg takes
	uint32_t type; // of its buffers
} vf_device;
int vf_v4l2_device(int fd, vf_device *d);

// The index-th format that pictures come in.
int vf_v4l2_format(int fd, uint32_t type, uint32_t index, uint32_t *fourcc);

// The index-th size of a format, or all sizes from w x h on in steps where steps is set.
typedef struct {
	int steps;
	uint32_t w, h, step_w, step_h, most_w, most_h;
} vf_size;
int vf_v4l2_size(int fd, uint32_t fourcc, uint32_t index, vf_size *s);

// The index-th frame interval of a size, or all from shortest to longest if range is set.
typedef struct {
	int range;
	struct v4l2_fract shortest, longest;
} vf_interval;
int vf_v4l2_interval(int fd, uint32_t fourcc, uint32_t w, uint32_t h, uint32_t index, vf_interval *v);

// The colours of the pictures as they are set now, in FFmpeg's numbers.
int vf_v4l2_colour(int fd, uint32_t type, int *space, int *range);

// Unix time in microseconds of a driver's timestamp, whichever clock it uses; 0 if that is
// unknown.
int64_t vf_unix_time(int64_t stamp);
int64_t vf_unix_now(void);
#endif
