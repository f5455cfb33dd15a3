/* vidfilter.h: vidfilter's filters for other programs. Link with -lvidfilter. docs/library.md has an example.
 *
 * A handle is used by one thread at a time, any thread; a process may have many handles. Filters run during push and
 * flush, on threads of the library. The library writes to no stream, changes no signal's action but those that Go's
 * runtime needs (SIGSEGV, SIGBUS, SIGFPE, SIGURG), never exits the process, and cannot be unloaded. */
#ifndef VIDFILTER_H
#define VIDFILTER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct vidfilter vidfilter; /* a handle */

/* Results of functions. Below 0 are errors, whose text vidfilter_error has. After VIDFILTER_DEVICE and
 * VIDFILTER_FAILED only reset and close work. */
enum {
	VIDFILTER_OK = 0,
	VIDFILTER_AGAIN = 1,   /* push: pull first; pull: push first */
	VIDFILTER_END = 2,     /* pull: that was the last result */
	VIDFILTER_BAD = -1,    /* an argument, option or format is wrong: the state is unchanged */
	VIDFILTER_DEVICE = -2, /* the GPU is not there or does not work */
	VIDFILTER_FAILED = -3  /* no memory, or a fault of the library */
};

/* How the frames of a video are made: all at once, or of two fields, the upper or the lower line's first. */
enum {
	VIDFILTER_PROGRESSIVE = 0,
	VIDFILTER_TOP_FIRST = 1,
	VIDFILTER_BOTTOM_FIRST = 2,
	VIDFILTER_MIXED = 3 /* one of the above for each frame; not for a frame */
};

typedef struct {
	int width, height;         /* pixels */
	const char *pixel_format;  /* FFmpeg's name: yuv420p, yuv422p10le, gray16le, gbrp12le, nv12, p010le, rgba, ... */
	const char *matrix;        /* bt601, bt709, bt2020nc; NULL: bt709 from 720 lines on, bt601 below */
	int full_range;            /* 0: limited, as most video; ignored for RGB */
	int fields;                /* VIDFILTER_PROGRESSIVE ... VIDFILTER_MIXED */
	int rate_num, rate_den;    /* frames a second; 0: unknown */
	int unit_num, unit_den;    /* seconds, of times; 0: times count frames */
	int lossless;              /* 1: no lossy codec has changed the noise, as in frames of a camera or of ProRes */
	int live;                  /* 1: each result is there after the push of its frame, independent of later ones */
} vidfilter_format;

/* Samples of more than 8 bits have two bytes, the lower first. Planes are in the pixel format's order (GBR for gbrp). */
typedef struct {
	uint8_t *data[4];      /* first row of each plane */
	ptrdiff_t stride[4];   /* bytes from a row to the next, any number that keeps rows apart, also below 0 */
	int64_t time;          /* in the format's unit, rising; of both results of an interlaced frame rounded down */
	int64_t duration;      /* 0: unknown */
	int fields;            /* of a VIDFILTER_MIXED video */
	int context;           /* 1: the frame has no result, and serves its neighbours */
	void (*release)(void *opaque); /* see vidfilter_push; not set by vidfilter_pull */
	void *opaque;
} vidfilter_frame;

#ifndef VIDFILTER_TYPES_ONLY

/* Opens a handle. options are filter options of the program, and device and threads, with the same names and values
 * ("vidfilter help options"): "strength=1:quality=good:chroma=0.8:deinterlace=best:device=auto"; NULL or "": defaults.
 * Options that FFmpeg's filters do in the program (crop, scale, ...) are refused. Results have the format of the frames.
 * *v is set even if there is an error, then for vidfilter_error and vidfilter_close only (NULL: no memory). */
int vidfilter_open(vidfilter **v, const vidfilter_format *format, const char *options);

/* Filters a frame. If release is NULL, the samples are copied before push returns. Else the library may read them, never
 * write them, until it calls release(opaque): once, in a call of push, pull, flush, reset or close with this handle, in
 * that call's thread, and not if push returns VIDFILTER_BAD or VIDFILTER_AGAIN. release must not use this handle. */
int vidfilter_push(vidfilter *v, const vidfilter_frame *frame);

/* Returns the next result. If frame->data[0] is NULL, frame gets the place of samples in the library's memory, to be
 * read until the next call with this handle. Else they are copied to the caller's planes in frame->data, with
 * frame->stride. time, duration and fields are set as well. */
int vidfilter_pull(vidfilter *v, vidfilter_frame *frame);

/* Ends the video: all its results can be pulled. The next push begins another video. */
int vidfilter_flush(vidfilter *v);

/* Forgets all frames and results, and errors. The next push begins another video. */
int vidfilter_reset(vidfilter *v);

/* How many frames before and after its own a result depends on, at most. It can be pulled once as many after it have
 * been pushed. A handle that begins in the middle of a video, at a frame whose number is a multiple of step, makes the
 * same results as the whole video once it has seen the frames before, which may be marked as context. */
int vidfilter_window(vidfilter *v, int *before, int *after, int *step);

/* Closes a handle, or NULL. */
void vidfilter_close(vidfilter *v);

/* The text of the latest error of a handle, "" before the first; until the next call with this handle. */
const char *vidfilter_error(const vidfilter *v);

/* The version of the library. */
const char *vidfilter_version(void);

#endif
#ifdef __cplusplus
}
#endif
#endif
