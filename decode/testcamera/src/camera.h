// A fake camera: /dev/videoN for a program whose calls of the C library reach this library first,
// by LD_PRELOAD.
#ifndef TESTCAMERA_H
#define TESTCAMERA_H
#include <linux/videodev2.h>
#include <stddef.h>
#include <stdint.h>

enum { MOST_MODES = 64, MOST_RATES = 8, MOST_BUFFERS = 8, MOST_OPEN = 32, MOST_TAKEN = 4, PATH_LENGTH = 32 };

// A format in one size, or in all sizes from size to largest in even steps.
typedef struct {
	uint32_t format;
	int width, height, largest_width, largest_height;
	int rates;
	struct v4l2_fract interval[MOST_RATES]; // of a range: the shortest and the longest
	int range;                              // of intervals
} mode;

// The contents of a device's file.
typedef struct {
	long plug;
	char name[32];
	mode modes[MOST_MODES];
	int count;
	int open_error, format_error, stream_error, dequeue_error;
	int no_capture, silent, damage;
	uint32_t takes[MOST_TAKEN]; // formats of an output device
	int takes_count;
	int keeps_width, keeps_height; // its size, which cannot be changed; 0: any
	int fixed_rate, no_rates; // the rate cannot be chosen; is not reported
	uint32_t colourspace, quantization;
	int clock; // of the times: 0 monotonic, 1 the wall's, 2 missing
} device;

typedef struct {
	int used, fd;
	int description, output; // files of an output device, open before a sandbox hides them; else -1
	char path[PATH_LENGTH];
	int nonblock;
	long plug;
	uint32_t format;
	int width, height;
	struct v4l2_fract interval;
	uint8_t *memory;
	size_t size; // of a buffer
	int buffers, owner, streaming;
	int64_t began, next; // ns of the first picture; the number of the next one
	int queue[MOST_BUFFERS], queued;
	struct v4l2_buffer done[MOST_BUFFERS];
	int ready;
} handle;

// Reads the file of a path into d; 0 if there is no such device.
int describe(const char *path, device *d);
// The file of an open camera, or 0 if it was unplugged.
int describe_open(const handle *h, device *d);

int open_camera(const char *path, int flags);
// Waits for the events that poll reports, for at most a time in ms.
int wait_for(handle *h, int timeout);
int control(handle *h, unsigned long request, void *argument);
handle *find(int fd);
void close_camera(handle *h);

// The device of a virtual camera: its input goes to a file beside its description, after a line
// with the format.
void open_output(handle *h);
int set_output(handle *h, const device *d, struct v4l2_format *f);
long write_output(handle *h, const void *picture, size_t size);

// Takes in the camera's pictures so far. Returns ns to its next picture, or a long time.
int64_t advance(handle *h, const device *d);
int64_t nanoseconds(int wall);

size_t picture_size(uint32_t format, int w, int h);
// Draws picture n and returns its length.
size_t draw(uint8_t *to, uint32_t format, int w, int h, long n, int damaged);
size_t draw_jpeg(uint8_t *to, int w, int h, long n);
size_t draw_h264(uint8_t *to, int w, int h, long n);
uint8_t luma(int x, int y, long n);
#endif
