/* core.vidfilter.Denoise(clip, ...): the denoiser for VapourSynth.
 *
 * One handle filters the clip in order. A frame out of order, give or take KEPT, makes it begin
 * again, early enough for the same result: see vidfilter_window. */
#include "vapoursynth.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vidfilter.h>

enum { KEPT = 8 }; /* results that are kept for requests out of order */

typedef struct {
	VSNode *node;
	VSVideoInfo info;
	vidfilter *v;
	int before, after, step;

	int running;     /* the handle has frames */
	int next_push;   /* number of the next frame to push */
	int next_result; /* number of the next result to pull */
	const VSFrame *kept[KEPT];
	int kept_number[KEPT];
	const VSFrame **sources; /* of the results to come, by number modulo after + 2 */
} filter;

static const VSAPI *api;

static const struct {
	const char *argument, *option, *kind;
} arguments[] = {
	{"strength", "strength", "float"}, {"luma", "luma", "float"}, {"chroma", "chroma", "float"}, {"quality", "quality", "data"},
	{"grain", "grain", "float"}, {"noise", "noise", "float"}, {"temporal_only", "temporal-only", "int"},
	{"spatial_only", "spatial-only", "int"}, {"device", "device", "data"}, {"threads", "threads", "int"},
};
enum { ARGUMENTS = sizeof arguments / sizeof *arguments };

static int least(int a, int b) { return a < b ? a : b; }
static int most(int a, int b) { return a > b ? a : b; }

/* The library's plane of a plane of VapourSynth, whose RGB is in this order. */
static int plane_of(const filter *p, int i) { return p->info.format.family == FAMILY_RGB ? (i + 2) % 3 : i; }

static void release(void *frame) { api->free_frame(frame); }

/* Resets the handle. */
static void forget(filter *p)
{
	for (; p->running && p->next_result < p->next_push; p->next_result++) {
		const VSFrame **source = &p->sources[p->next_result % (p->after + 2)];
		if (*source)
			api->free_frame(*source);
		*source = NULL;
	}
	p->running = 0;
	vidfilter_reset(p->v);
}

static int push(filter *p, const VSFrame *frame, int first)
{
	int n = p->next_push;
	vidfilter_frame f = {.time = n, .context = n < first, .release = release, .opaque = (void *)frame};
	int error, based = (int)api->get_int(api->properties(frame), "_FieldBased", 0, &error);
	f.fields = error ? VIDFILTER_PROGRESSIVE : based == 2 ? VIDFILTER_TOP_FIRST : based == 1 ? VIDFILTER_BOTTOM_FIRST : VIDFILTER_PROGRESSIVE;
	for (int i = 0; i < p->info.format.planes; i++) {
		f.data[plane_of(p, i)] = (uint8_t *)api->read(frame, i);
		f.stride[plane_of(p, i)] = api->stride(frame, i);
	}
	if (n >= first)
		p->sources[n % (p->after + 2)] = api->add_ref(frame);
	p->next_push++;
	int code = vidfilter_push(p->v, &f);
	if (code == VIDFILTER_BAD || code == VIDFILTER_AGAIN)
		api->free_frame(frame);
	return code;
}

/* Keeps a result, with the properties of its source. */
static void keep(filter *p, const vidfilter_frame *r, VSCore *core)
{
	int n = p->next_result++;
	const VSFrame **source = &p->sources[n % (p->after + 2)], **kept = &p->kept[n % KEPT];
	const VSVideoFormat *format = &p->info.format;
	VSFrame *out = api->new_frame(format, p->info.width, p->info.height, *source, core);
	api->free_frame(*source);
	*source = NULL;
	for (int i = 0; i < format->planes; i++) {
		int shift_w = i ? format->sub_w : 0, shift_h = i ? format->sub_h : 0, from = plane_of(p, i);
		size_t width = (size_t)((p->info.width + (1 << shift_w) - 1) >> shift_w) * format->bytes;
		int rows = (p->info.height + (1 << shift_h) - 1) >> shift_h;
		uint8_t *to = api->write(out, i);
		for (int y = 0; y < rows; y++)
			memcpy(to + y * api->stride(out, i), r->data[from] + y * r->stride[from], width);
	}
	if (*kept)
		api->free_frame(*kept);
	*kept = out;
	p->kept_number[n % KEPT] = n;
}

/* Makes the results up to n. The frames from next_push to n + after are there. */
static const char *run(filter *p, int n, int first, VSFrameContext *ctx, VSCore *core)
{
	while (p->next_result <= n) {
		vidfilter_frame r = {0};
		int code = vidfilter_pull(p->v, &r);
		if (code == VIDFILTER_OK) {
			if (r.time != p->next_result || p->next_result >= p->next_push)
				return "options make another number of frames";
			keep(p, &r, core);
			continue;
		}
		if (code == VIDFILTER_AGAIN && p->next_push == p->info.frames)
			code = vidfilter_flush(p->v);
		else if (code == VIDFILTER_AGAIN && p->next_push <= p->next_result + p->after)
			code = push(p, api->frame_of(p->next_push, p->node, ctx), first);
		else
			return code < 0 ? vidfilter_error(p->v) : "options make another number of frames";
		if (code)
			return code < 0 ? vidfilter_error(p->v) : "the filter is out of step";
	}
	return NULL;
}

static void ask(filter *p, int from, int to, void **request, VSFrameContext *ctx)
{
	for (int n = from; n <= to; n++)
		api->request(n, p->node, ctx);
	request[0] = (void *)(intptr_t)from;
	request[1] = (void *)(intptr_t)to;
}

static const VSFrame *get_frame(int n, int reason, void *of, void **request, VSFrameContext *ctx, VSCore *core, const VSAPI *vsapi)
{
	filter *p = of;
	int last = least(n + p->after, p->info.frames - 1);
	(void)vsapi;
	if (reason == INITIAL)
		return ask(p, n, last, request, ctx), NULL;
	if (reason != FRAMES_READY)
		return NULL;
	if (!p->kept[n % KEPT] || p->kept_number[n % KEPT] != n) {
		int goes_on = p->running && n >= p->next_result && n - p->next_result < KEPT;
		int first = n < 2 * KEPT ? 0 : n; /* at the start, hosts ask for frames in any order */
		int from = goes_on ? p->next_push : most(first - p->before, 0) / p->step * p->step;
		if (from <= last && (from < (intptr_t)request[0] || last > (intptr_t)request[1]))
			return ask(p, from, last, request, ctx), NULL; /* and comes back */
		if (!goes_on) {
			forget(p);
			p->running = 1;
			p->next_push = from;
			p->next_result = first;
		}
		const char *error = run(p, n, first, ctx, core);
		if (error) {
			char text[512];
			snprintf(text, sizeof text, "vidfilter: %s", error);
			api->fail(text, ctx);
			forget(p);
			return NULL;
		}
	}
	return api->add_ref(p->kept[n % KEPT]);
}

static void free_filter(void *of, VSCore *core, const VSAPI *vsapi)
{
	filter *p = of;
	(void)core;
	(void)vsapi;
	if (p->sources)
		forget(p);
	vidfilter_close(p->v);
	for (int i = 0; i < KEPT; i++)
		if (p->kept[i])
			api->free_frame(p->kept[i]);
	api->free_node(p->node);
	free(p->sources);
	free(p);
}

/* FFmpeg's name of a format, or "". */
static void name_of(const VSVideoFormat *f, char *name, size_t size)
{
	const char *base = f->family == FAMILY_GRAY ? "gray" : f->family == FAMILY_RGB ? "gbrp" : "";
	if (f->family == FAMILY_YUV && f->sub_h <= f->sub_w && f->sub_w <= 1)
		base = f->sub_h ? "yuv420p" : f->sub_w ? "yuv422p" : "yuv444p";
	if (f->samples != SAMPLES_INTEGER || f->bits > 16)
		base = "";
	snprintf(name, size, f->bits == 8 || !*base ? "%s" : "%s%dle", base, f->bits);
}

/* The arguments as options. */
static void options_of(const VSMap *in, char *text, size_t size)
{
	size_t n = 0;
	text[0] = 0;
	for (int i = 0; i < ARGUMENTS; i++) {
		int error;
		char value[256];
		if (!strcmp(arguments[i].kind, "float")) { /* in thousandths: a locale may write 0,5 */
			double x = api->get_float(in, arguments[i].argument, 0, &error);
			long long t = (x < 0 ? -x : x) * 1000 + 0.5;
			snprintf(value, sizeof value, "%s%lld.%03lld", x < 0 ? "-" : "", t / 1000, t % 1000);
		} else if (!strcmp(arguments[i].kind, "int")) {
			snprintf(value, sizeof value, "%lld", (long long)api->get_int(in, arguments[i].argument, 0, &error));
		} else {
			const char *data = api->get_data(in, arguments[i].argument, 0, &error);
			snprintf(value, sizeof value, "%s", error ? "" : data);
		}
		if (!error && n < size)
			n += snprintf(text + n, size - n, "%s%s=%s", n ? ":" : "", arguments[i].option, value);
	}
	int error;
	const char *more = api->get_data(in, "options", 0, &error);
	if (!error && *more && n < size)
		snprintf(text + n, size - n, "%s%s", n ? ":" : "", more);
}

/* Opens the handle, and returns the error or NULL. */
static const char *open_filter(filter *p, const VSMap *in)
{
	char name[32], options[2048], wrong[256];
	int error, lossless = (int)api->get_int(in, "lossless", 0, &error);
	if (p->info.width <= 0 || p->info.format.family == 0)
		return "clips with frames of several formats are not filtered";
	name_of(&p->info.format, name, sizeof name);
	options_of(in, options, sizeof options);
	vidfilter_format f = {
		.width = p->info.width, .height = p->info.height, .pixel_format = name, .fields = VIDFILTER_MIXED, .lossless = !error && lossless};
	const VSFrame *frame = api->frame(0, p->node, wrong, sizeof wrong);
	if (!frame)
		return "the clip has no frame 0";
	int64_t limited = api->get_int(api->properties(frame), "_ColorRange", 0, &error);
	f.full_range = !error && !limited;
	api->free_frame(frame);
	if (vidfilter_open(&p->v, &f, options) || vidfilter_window(p->v, &p->before, &p->after, &p->step))
		return vidfilter_error(p->v);
	p->sources = calloc(p->after + 2, sizeof *p->sources);
	return p->sources ? NULL : "out of memory";
}

static void create(const VSMap *in, VSMap *out, void *user, VSCore *core, const VSAPI *vsapi)
{
	filter *p = calloc(1, sizeof *p);
	(void)user;
	api = vsapi;
	if (!p)
		return api->set_error(out, "vidfilter: out of memory");
	p->node = api->get_node(in, "clip", 0, NULL);
	p->info = *api->video_info(p->node);
	const char *wrong = open_filter(p, in);
	if (wrong) {
		char text[512];
		snprintf(text, sizeof text, "vidfilter: %s", wrong);
		api->set_error(out, text);
		free_filter(p, core, api);
		return;
	}
	VSFilterDependency dependency = {p->node, ANY_REQUESTS};
	api->create_filter(out, "Denoise", &p->info, get_frame, free_filter, PARALLEL_REQUESTS, &dependency, 1, p, core);
}

__attribute__((visibility("default"))) void VapourSynthPluginInit2(VSPlugin *plugin, const VSPluginAPI *to)
{
	char args[1024];
	int n = snprintf(args, sizeof args, "clip:vnode;");
	for (int i = 0; i < ARGUMENTS; i++)
		n += snprintf(args + n, sizeof args - n, "%s:%s:opt;", arguments[i].argument, arguments[i].kind);
	snprintf(args + n, sizeof args - n, "lossless:int:opt;options:data:opt;");
	to->config("org.vidfilter.denoise", "vidfilter", "vidfilter's denoiser", 1 << 16, API_VERSION, 0, plugin);
	to->function("Denoise", args, "clip:vnode;", create, NULL, plugin);
}
