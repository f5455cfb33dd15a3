/* A small host for the VapourSynth plugin: one source, one filter, one thread. It checks that the plugin asks for the
 * frames that it reads, and frees what it takes.
 * host PLUGIN FAMILY BITS SUB_W SUB_H WIDTH HEIGHT FRAMES NUMBERS KEY=TYPE:VALUE... <raw >raw
 * NUMBERS are the frames to write, as 2,0,1. An error of the plugin goes to stdout. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vapoursynth.h"

#define DIE(...) (fprintf(stderr, __VA_ARGS__), exit(1))

struct VSFrame {
	int refs, number;
	ptrdiff_t stride[3];
	uint8_t *plane[3];
};
struct VSNode {
	VSVideoInfo info;
	VSFrame **frames; /* of the source */
	VSGetFrame *get;  /* of the filter */
	VSFree *free;
	void *instance;
};
struct VSMap {
	int argc;
	char **argv;
	VSNode *clip;
	char error[256];
};
struct VSFrameContext {
	char requested[4096], error[256];
};
struct VSPlugin {
	VSFunction *create;
};

static int live; /* frames */

static int width_of(const VSVideoFormat *f, int width, int i) { return (i ? (width + (1 << f->sub_w) - 1) >> f->sub_w : width) * f->bytes; }
static int height_of(const VSVideoFormat *f, int height, int i) { return i ? (height + (1 << f->sub_h) - 1) >> f->sub_h : height; }

static VSFrame *new_frame(const VSVideoFormat *format, int width, int height, const VSFrame *properties, VSCore *core)
{
	VSFrame *f = calloc(1, sizeof *f);
	(void)core;
	f->refs = 1;
	f->number = properties ? properties->number : -1;
	for (int i = 0; i < format->planes; i++) {
		f->stride[i] = (width_of(format, width, i) + 31) / 32 * 32;
		f->plane[i] = calloc(height_of(format, height, i), f->stride[i]);
	}
	live++;
	return f;
}

static void free_frame(const VSFrame *of)
{
	VSFrame *f = (VSFrame *)of;
	if (--f->refs < 0)
		DIE("a frame is freed twice\n");
	if (f->refs)
		return;
	for (int i = 0; i < 3; i++)
		free(f->plane[i]);
	free(f);
	live--;
}

static const VSFrame *add_ref(const VSFrame *f) { return ((VSFrame *)f)->refs++, f; }
static void free_node(VSNode *node) { (void)node; }
static const VSVideoInfo *video_info(VSNode *node) { return &node->info; }
static const VSMap *properties(const VSFrame *f) { (void)f; return NULL; }
static ptrdiff_t stride(const VSFrame *f, int i) { return f->stride[i]; }
static const uint8_t *read_at(const VSFrame *f, int i) { return f->plane[i]; }
static uint8_t *write_at(VSFrame *f, int i) { return f->plane[i]; }
static const VSFrame *frame(int n, VSNode *node, char *error, int size) { (void)error; (void)size; return add_ref(node->frames[n]); }
static void fail(const char *error, VSFrameContext *ctx) { snprintf(ctx->error, sizeof ctx->error, "%s", error); }
static void set_error(VSMap *map, const char *error) { snprintf(map->error, sizeof map->error, "%s", error); }

static void request(int n, VSNode *node, VSFrameContext *ctx)
{
	if (n < 0 || n >= node->info.frames)
		DIE("frame %d is requested\n", n);
	ctx->requested[n] = 1;
}

static const VSFrame *frame_of(int n, VSNode *node, VSFrameContext *ctx)
{
	if (n < 0 || !ctx->requested[n])
		DIE("frame %d is read, and was not requested\n", n);
	return add_ref(node->frames[n]);
}

/* Returns the value of KEY=TYPE:VALUE in a map, which is NULL for properties. */
static const char *value(const VSMap *map, const char *key, char type, int *error)
{
	for (int i = 0; map && i < map->argc; i++) {
		size_t n = strlen(key);
		if (!strncmp(map->argv[i], key, n) && map->argv[i][n] == '=' && map->argv[i][n + 1] == type) {
			*error = 0;
			return map->argv[i] + n + 3;
		}
	}
	*error = 1;
	return "";
}

static int64_t get_int(const VSMap *map, const char *key, int i, int *error) { (void)i; return atoll(value(map, key, 'i', error)); }
static double get_float(const VSMap *map, const char *key, int i, int *error) { (void)i; return atof(value(map, key, 'f', error)); }
static const char *get_data(const VSMap *map, const char *key, int i, int *error) { (void)i; return value(map, key, 'd', error); }
static VSNode *get_node(const VSMap *map, const char *key, int i, int *error) { (void)key; (void)i; (void)error; return map->clip; }

static void create_filter(VSMap *out, const char *name, const VSVideoInfo *info, VSGetFrame *get, VSFree *free_filter, int mode,
			  const VSFilterDependency *deps, int n, void *instance, VSCore *core)
{
	(void)name; (void)mode; (void)deps; (void)n; (void)core;
	out->clip = calloc(1, sizeof *out->clip);
	*out->clip = (VSNode){.info = *info, .get = get, .free = free_filter, .instance = instance};
}

static const VSAPI api = {
	.create_filter = create_filter, .free_node = free_node, .video_info = video_info, .new_frame = new_frame, .free_frame = free_frame,
	.add_ref = add_ref, .properties = properties, .stride = stride, .read = read_at, .write = write_at, .frame = frame,
	.frame_of = frame_of, .request = request, .fail = fail, .set_error = set_error, .get_int = get_int, .get_float = get_float,
	.get_data = get_data, .get_node = get_node};

static int config(const char *id, const char *space, const char *name, int version, int for_api, int flags, VSPlugin *plugin)
{
	(void)id; (void)name; (void)version; (void)flags; (void)plugin;
	return !strcmp(space, "vidfilter") && for_api >> 16 == 4;
}

static int function(const char *name, const char *args, const char *returns, VSFunction *f, void *user, VSPlugin *plugin)
{
	(void)args; (void)returns; (void)user;
	if (!strcmp(name, "Denoise"))
		plugin->create = f;
	return 1;
}

static void move(FILE *file, const VSFrame *f, const VSVideoInfo *info, int out)
{
	for (int i = 0; i < info->format.planes; i++)
		for (int y = 0; y < height_of(&info->format, info->height, i); y++) {
			uint8_t *row = f->plane[i] + y * f->stride[i];
			size_t n = width_of(&info->format, info->width, i);
			if ((out ? fwrite(row, 1, n, file) : fread(row, 1, n, file)) != n)
				DIE("too few samples\n");
		}
}

int main(int argc, char **argv)
{
	if (argc < 10)
		DIE("too few arguments\n");
	int a[7];
	for (int i = 0; i < 7; i++)
		a[i] = atoi(argv[2 + i]);
	VSNode source = {.info = {.format = {.family = a[0], .bits = a[1], .bytes = a[1] > 8 ? 2 : 1, .sub_w = a[2], .sub_h = a[3], .planes = a[0] == FAMILY_GRAY ? 1 : 3},
				  .width = a[4], .height = a[5], .frames = a[6]}};
	source.frames = calloc(a[6], sizeof *source.frames);
	for (int n = 0; n < a[6]; n++) {
		source.frames[n] = new_frame(&source.info.format, a[4], a[5], NULL, NULL);
		source.frames[n]->number = n;
		move(stdin, source.frames[n], &source.info, 0);
	}
	void *plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
	if (!plugin)
		DIE("%s\n", dlerror());
	void (*init)(VSPlugin *, const VSPluginAPI *) = dlsym(plugin, "VapourSynthPluginInit2");
	VSPlugin registered = {0};
	init(&registered, &(VSPluginAPI){.config = config, .function = function});
	VSMap in = {.argc = argc - 10, .argv = argv + 10, .clip = &source}, out = {0};
	registered.create(&in, &out, NULL, NULL, &api);
	for (char *n = strtok(argv[9], ","); n && !*out.error; n = strtok(NULL, ",")) {
		VSFrameContext ctx = {0};
		void *data[4] = {0};
		const VSFrame *f = out.clip->get(atoi(n), INITIAL, out.clip->instance, data, &ctx, NULL, &api);
		for (int i = 0; i < 3 && !f && !*ctx.error; i++)
			f = out.clip->get(atoi(n), FRAMES_READY, out.clip->instance, data, &ctx, NULL, &api);
		if (*ctx.error) {
			snprintf(out.error, sizeof out.error, "%s", ctx.error);
			break;
		}
		if (!f || f->number != atoi(n))
			DIE("frame %s does not come, or has the properties of another\n", n);
		move(stdout, f, &source.info, 1);
		free_frame(f);
	}
	if (*out.error)
		puts(out.error);
	if (out.clip)
		out.clip->free(out.clip->instance, NULL, &api);
	free(out.clip);
	for (int n = 0; n < a[6]; n++)
		free_frame(source.frames[n]);
	free(source.frames);
	if (live)
		DIE("%d frames are left\n", live);
	return fflush(stdout) != 0;
}
