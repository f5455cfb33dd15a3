/* Uses libvidfilter.so in all ways that vidfilter.h promises, on a device: check cpu. Prints errors. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <vidfilter.h>

#ifndef N
#define N 72 /* frames */
#endif
enum { W = 70, H = 50, CW = W / 2, CH = H / 2, SIZE = W * H + 2 * CW * CH };

static int wrong;
#define CHECK(x) ((x) ? 0 : (wrong = 1, printf("line %d: %s\n", __LINE__, #x)))

static uint8_t clip[N][SIZE];
static int released[N];
static void release(void *n) { ++*(int *)n; }

static void draw(void)
{
	unsigned seed = 1;
	for (int n = 0; n < N; n++)
		for (int i = 0; i < SIZE; i++) {
			seed = seed * 1664525 + 1013904223;
			int shape = i < W * H ? (i % W + i / W + n) % 100 + 60 : 128;
			clip[n][i] = shape + (int)(seed >> 28) - 8;
		}
}

/* How samples are handed over. */
enum how { COPIED, FLIPPED, LENT, TAKEN, HOWS };

static size_t offset_of(int i) { return i == 0 ? 0 : W * H + (size_t)(i - 1) * CW * CH; }
static int width_of(int i) { return i ? CW : W; }
static int height_of(int i) { return i ? CH : H; }

/* LENT planes end where memory that may not be read begins. */
static uint8_t *guarded(const uint8_t *from, int width, int height, ptrdiff_t stride)
{
	size_t size = (height - 1) * stride + width, pages = (size + 4095) / 4096 * 4096;
	uint8_t *all = mmap(NULL, pages + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint8_t *at = all + pages - size;
	for (int y = 0; y < height; y++)
		memcpy(at + y * stride, from + y * width, width);
	mprotect(all, pages + 4096, PROT_READ);
	mprotect(all + pages, 4096, PROT_NONE);
	return at;
}

static vidfilter_frame frame_of(int n, enum how how)
{
	vidfilter_frame f = {.time = n};
	for (int i = 0; i < 3; i++) {
		uint8_t *from = clip[n] + offset_of(i);
		int w = width_of(i), h = height_of(i);
		f.data[i] = from;
		f.stride[i] = w;
		if (how == FLIPPED) { /* a copy of the plane that begins at the bottom */
			static uint8_t flipped[3][W * H];
			uint8_t *copy = flipped[i];
			for (int y = 0; y < h; y++)
				memcpy(copy + (h - 1 - y) * w, from + y * w, w);
			f.data[i] = copy + (h - 1) * w;
			f.stride[i] = -w;
		} else if (how == LENT) {
			f.stride[i] = w + 3;
			f.data[i] = guarded(from, w, h, f.stride[i]);
		}
	}
	if (how == LENT) {
		f.release = release;
		f.opaque = &released[n];
	}
	return f;
}

/* Pulls all results that are there, and returns the last code. */
static int pull(vidfilter *v, enum how how, uint8_t *to, int *count)
{
	for (;;) {
		vidfilter_frame r = {0};
		uint8_t *at = to + (size_t)*count * SIZE;
		for (int i = 0; how == TAKEN && i < 3; i++) {
			r.data[i] = at + offset_of(i);
			r.stride[i] = width_of(i);
		}
		int code = vidfilter_pull(v, &r);
		if (code)
			return code;
		for (int i = 0; how != TAKEN && i < 3; i++)
			for (int y = 0; y < height_of(i); y++)
				memcpy(at + offset_of(i) + y * width_of(i), r.data[i] + y * r.stride[i], width_of(i));
		++*count;
	}
}

static const char *device;

static vidfilter *open_as(const char *filters, int live, int fields)
{
	vidfilter *v;
	char options[256];
	snprintf(options, sizeof options, "%s:device=%s", filters, device);
	vidfilter_format f = {.width = W, .height = H, .pixel_format = "yuv420p", .live = live, .fields = fields};
	int code = vidfilter_open(&v, &f, options);
	if (code)
		printf("%s: %d, %s\n", options, code, vidfilter_error(v));
	CHECK(!code);
	return v;
}

/* Filters frames from one on, the first of which are context, and returns the number of results. */
static int filter(vidfilter *v, enum how how, int from, int context, uint8_t *to)
{
	int count = 0, before, after, step;
	CHECK(!vidfilter_window(v, &before, &after, &step));
	for (int n = from; n < N; n++) {
		vidfilter_frame f = frame_of(n, how);
		f.context = n < from + context;
		CHECK(vidfilter_push(v, &f) == VIDFILTER_OK);
		CHECK(pull(v, how, to, &count) == VIDFILTER_AGAIN);
		CHECK(count > n - after - from - context);
	}
	CHECK(vidfilter_flush(v) == VIDFILTER_OK);
	CHECK(pull(v, how, to, &count) == VIDFILTER_END);
	return count;
}

static uint8_t first[2 * N][SIZE], again[2 * N][SIZE], other[2 * N][SIZE];
static const char *every = "quality=fast:threads=2";

static void *in_thread(void *to)
{
	vidfilter *v = open_as(every, 0, VIDFILTER_PROGRESSIVE);
	CHECK(filter(v, COPIED, 0, 0, to) == N);
	vidfilter_close(v);
	return NULL;
}

static void every_way(void)
{
	vidfilter *v = open_as(every, 0, VIDFILTER_PROGRESSIVE);
	CHECK(filter(v, COPIED, 0, 0, *first) == N);
	CHECK(memcmp(first, clip, sizeof clip));
	for (enum how how = FLIPPED; how < HOWS; how++) { /* each a video of its own */
		memset(again, 0, sizeof again);
		CHECK(filter(v, how, 0, 0, *again) == N);
		CHECK(!memcmp(first, again, sizeof first));
	}
	int count = 0;
	for (int n = 0; n < 5; n++) {
		vidfilter_frame f = frame_of(N - 1 - n, COPIED);
		CHECK(!vidfilter_push(v, &f));
		pull(v, COPIED, *again, &count);
	}
	CHECK(!vidfilter_reset(v));
	CHECK(filter(v, COPIED, 0, 0, *again) == N && !memcmp(first, again, sizeof first));
	vidfilter_close(v);
	for (int n = 0; n < N; n++)
		CHECK(released[n] == 1);
	pthread_t t;
	pthread_create(&t, NULL, in_thread, *other);
	in_thread(*again);
	pthread_join(t, NULL);
	CHECK(!memcmp(first, again, sizeof first) && !memcmp(first, other, sizeof first));
}

/* A part makes the same results as the whole. */
static void window(void)
{
	static const char *part = "quality=best:noise=6";
	int before, after, step;
	vidfilter *v = open_as(part, 0, VIDFILTER_PROGRESSIVE);
	CHECK(!vidfilter_window(v, &before, &after, &step));
	filter(v, COPIED, 0, 0, *first);
	int from = (N - 1 - before) / step * step, context = before;
	CHECK(from > 0 && after < N);
	CHECK(filter(v, COPIED, from, context, *again) == N - from - context);
	CHECK(!memcmp(first[from + context], again, (size_t)(N - from - context) * SIZE));
	vidfilter_close(v);
}

static void order_of_calls(void)
{
	vidfilter *v = open_as("strength=1", 1, VIDFILTER_PROGRESSIVE);
	vidfilter_frame f = frame_of(0, COPIED), r = {0};
	CHECK(vidfilter_pull(v, &r) == VIDFILTER_AGAIN);
	CHECK(vidfilter_push(v, &f) == VIDFILTER_OK);
	CHECK(vidfilter_push(v, &f) == VIDFILTER_AGAIN);
	CHECK(vidfilter_pull(v, &r) == VIDFILTER_OK && r.data[0] && r.time == 0); /* live: it does not wait */
	CHECK(vidfilter_pull(v, &r) == VIDFILTER_AGAIN);
	f.data[1] = NULL;
	CHECK(vidfilter_push(v, &f) == VIDFILTER_BAD && *vidfilter_error(v));
	f = frame_of(1, COPIED);
	f.stride[0] = W - 1;
	CHECK(vidfilter_push(v, &f) == VIDFILTER_BAD);
	CHECK(vidfilter_flush(v) == VIDFILTER_OK && vidfilter_flush(v) == VIDFILTER_OK);
	r.data[0] = NULL;
	CHECK(vidfilter_pull(v, &r) == VIDFILTER_END);
	vidfilter_close(v);
	vidfilter_close(NULL);
	CHECK(vidfilter_push(NULL, &f) == VIDFILTER_BAD && *vidfilter_error(NULL) == 0 && *vidfilter_version());
	CHECK(vidfilter_open(&v, NULL, "") == VIDFILTER_BAD && *vidfilter_error(v));
	CHECK(vidfilter_push(v, &f) == VIDFILTER_BAD);
	vidfilter_close(v);
	static const vidfilter_format refused[] = {
		{.width = W, .height = H, .pixel_format = "yuv420p11le"}, {.width = W, .height = H}, {.width = 0, .height = H, .pixel_format = "gray"},
		{.width = 1 << 30, .height = 1 << 30, .pixel_format = "gray"}, {.width = W, .height = H, .pixel_format = "gray", .matrix = "rec709"},
		{.width = W, .height = H, .pixel_format = "gray", .fields = 7}};
	for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
		CHECK(vidfilter_open(&v, &refused[i], "") == VIDFILTER_BAD && *vidfilter_error(v));
		vidfilter_close(v);
	}
}

/* Fields: a result for each, or for each frame. */
static void fields(void)
{
	vidfilter *v = open_as("deinterlace=best:quality=fast", 0, VIDFILTER_TOP_FIRST);
	CHECK(filter(v, COPIED, 0, 0, *first) == 2 * N);
	vidfilter_close(v);
	v = open_as("deinterlace=single:quality=fast", 0, VIDFILTER_BOTTOM_FIRST);
	CHECK(filter(v, COPIED, 0, 0, *first) == N);
	vidfilter_close(v);
}

/* Samples of two bytes at an odd address are copied, and the rest of the frame can be used at once. */
static void odd(void)
{
	enum { SAMPLES = 64 * 64 };
	static uint8_t memory[2 * SAMPLES + 1];
	static uint8_t results[2][2 * SAMPLES];
	for (int at = 0; at < 2; at++) {
		vidfilter *v;
		int done = 0;
		vidfilter_format f = {.width = 64, .height = 64, .pixel_format = "gray10le", .live = 1};
		CHECK(!vidfilter_open(&v, &f, "noise=4:device=cpu"));
		for (int i = 0; i < SAMPLES; i++) {
			int x = 400 + i % 64 + i * 37 % 11;
			memory[at + 2 * i] = x;
			memory[at + 2 * i + 1] = x >> 8;
		}
		CHECK(!vidfilter_push(v, &(vidfilter_frame){.data = {memory + at}, .stride = {128}, .release = release, .opaque = &done}));
		CHECK(at == 0 || done == 1);
		vidfilter_frame r = {.data = {results[at]}, .stride = {128}};
		CHECK(!vidfilter_pull(v, &r));
		vidfilter_close(v);
		CHECK(done == 1);
	}
	CHECK(!memcmp(results[0], results[1], sizeof results[0]));
}

int main(int argc, char **argv)
{
	device = argc > 1 ? argv[1] : "cpu";
	draw();
	every_way();
	if (N > 60)
		window();
	order_of_calls();
	fields();
	odd();
	return wrong;
}
