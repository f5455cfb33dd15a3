/* The part of VapourSynth's plugin interface, version 4, that the plugin uses: types, and functions by their place in
 * the tables. Written from its documentation, since Debian has no package with the original. */
#ifndef VIDFILTER_VAPOURSYNTH_H
#define VIDFILTER_VAPOURSYNTH_H

#include <stddef.h>
#include <stdint.h>

typedef struct VSFrame VSFrame;
typedef struct VSNode VSNode;
typedef struct VSCore VSCore;
typedef struct VSPlugin VSPlugin;
typedef struct VSMap VSMap;
typedef struct VSFrameContext VSFrameContext;
typedef struct VSAPI VSAPI;

enum { API_VERSION = 4 << 16 };
enum { FAMILY_GRAY = 1, FAMILY_RGB = 2, FAMILY_YUV = 3 };
enum { SAMPLES_INTEGER = 0 };
enum { PARALLEL_REQUESTS = 1 };           /* filter mode: one frame at a time, whose inputs come beside others */
enum { FRAMES_READY = 1, INITIAL = 0 };   /* reasons of a call */
enum { ANY_REQUESTS = 0 };

typedef struct {
	int family, samples, bits, bytes, sub_w, sub_h, planes;
} VSVideoFormat;

typedef struct {
	VSVideoFormat format;
	int64_t fps_num, fps_den;
	int width, height, frames;
} VSVideoInfo;

typedef struct {
	VSNode *source;
	int pattern;
} VSFilterDependency;

typedef void VSFunction(const VSMap *in, VSMap *out, void *user, VSCore *core, const VSAPI *api);
typedef const VSFrame *VSGetFrame(int n, int reason, void *instance, void **request, VSFrameContext *ctx, VSCore *core, const VSAPI *api);
typedef void VSFree(void *instance, VSCore *core, const VSAPI *api);

typedef struct {
	int (*api_version)(void);
	int (*config)(const char *id, const char *space, const char *name, int version, int api, int flags, VSPlugin *plugin);
	int (*function)(const char *name, const char *args, const char *returns, VSFunction *f, void *user, VSPlugin *plugin);
} VSPluginAPI;

struct VSAPI {
	void (*create_filter)(VSMap *out, const char *name, const VSVideoInfo *info, VSGetFrame *get, VSFree *free, int mode,
			      const VSFilterDependency *deps, int n, void *instance, VSCore *core); /* 0 */
	void *unused1[6];
	void (*free_node)(VSNode *node); /* 7 */
	void *unused8[2];
	const VSVideoInfo *(*video_info)(VSNode *node); /* 10 */
	void *unused11[1];
	VSFrame *(*new_frame)(const VSVideoFormat *format, int width, int height, const VSFrame *properties, VSCore *core); /* 12 */
	void *unused13[3];
	void (*free_frame)(const VSFrame *f);                /* 16 */
	const VSFrame *(*add_ref)(const VSFrame *f);         /* 17 */
	void *unused18[1];
	const VSMap *(*properties)(const VSFrame *f);        /* 19 */
	void *unused20[1];
	ptrdiff_t (*stride)(const VSFrame *f, int plane);    /* 21 */
	const uint8_t *(*read)(const VSFrame *f, int plane); /* 22 */
	uint8_t *(*write)(VSFrame *f, int plane);            /* 23 */
	void *unused24[12];
	const VSFrame *(*frame)(int n, VSNode *node, char *error, int size);           /* 36 */
	void *unused37[1];
	const VSFrame *(*frame_of)(int n, VSNode *node, VSFrameContext *ctx);          /* 38 */
	void (*request)(int n, VSNode *node, VSFrameContext *ctx);                     /* 39 */
	void *unused40[2];
	void (*fail)(const char *error, VSFrameContext *ctx);                          /* 42 */
	void *unused43[8];
	void (*set_error)(VSMap *map, const char *error);                              /* 51 */
	void *unused52[7];
	int64_t (*get_int)(const VSMap *map, const char *key, int i, int *error);      /* 59 */
	void *unused60[4];
	double (*get_float)(const VSMap *map, const char *key, int i, int *error);     /* 64 */
	void *unused65[4];
	const char *(*get_data)(const VSMap *map, const char *key, int i, int *error); /* 69 */
	void *unused70[3];
	VSNode *(*get_node)(const VSMap *map, const char *key, int i, int *error);     /* 73 */
};

#endif
