/* The denoiser as a frei0r filter, for Kdenlive, Shotcut, ffmpeg and other hosts. frei0r wants each result before the
 * next frame, so it works as vidfilter live does: by the frame and those before. */
#include <frei0r.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vidfilter.h>

#define EXPORT __attribute__((visibility("default")))

enum { STRENGTH, CHROMA, GRAIN, OPTIONS, PARAMETERS };

/* frei0r's numbers are from 0 to 1: the option is least + number * range. */
static const struct {
	const char *name, *explanation;
	double least, range, initial;
} numbers[] = {
	{"strength", "Strength, 0.5 to 2: 1 takes out the measured noise (0.333)", 0.5, 1.5, 1. / 3},
	{"chroma", "Strength in the colours, 0 to 4 times that: 0 leaves them as they are (0.25)", 0, 4, 0.25},
	{"grain", "The part of the removed noise that is put back", 0, 1, 0},
};

typedef struct {
	unsigned width, height;
	double number[OPTIONS];
	char *options;
	vidfilter *v;
	double time, step; /* of the latest frame, and from the one before, in the host's unit */
	int64_t frames;
} instance;

EXPORT int f0r_init(void) { return 1; }
EXPORT void f0r_deinit(void) {}

EXPORT void f0r_get_plugin_info(f0r_plugin_info_t *info)
{
	*info = (f0r_plugin_info_t){
		.name = "vidfilter", .author = "vidfilter", .plugin_type = F0R_PLUGIN_TYPE_FILTER, .color_model = F0R_COLOR_MODEL_RGBA8888,
		.frei0r_version = FREI0R_MAJOR_VERSION, .major_version = 1, .num_params = PARAMETERS,
		.explanation = "Takes out noise, by the frames before"};
}

EXPORT void f0r_get_param_info(f0r_param_info_t *info, int i)
{
	if (i >= 0 && i < OPTIONS)
		*info = (f0r_param_info_t){numbers[i].name, F0R_PARAM_DOUBLE, numbers[i].explanation};
	else if (i == OPTIONS)
		*info = (f0r_param_info_t){"options", F0R_PARAM_STRING, "Further options, as quality=good:device=cpu"};
}

EXPORT f0r_instance_t f0r_construct(unsigned width, unsigned height)
{
	instance *p = calloc(1, sizeof *p);
	if (!p || !(p->options = strdup("")))
		return free(p), NULL;
	p->width = width;
	p->height = height;
	for (int i = 0; i < OPTIONS; i++)
		p->number[i] = numbers[i].initial;
	return p;
}

EXPORT void f0r_destruct(f0r_instance_t of)
{
	instance *p = of;
	vidfilter_close(p->v);
	free(p->options);
	free(p);
}

/* A changed parameter has the filter begin again. */
static void changed(instance *p)
{
	vidfilter_close(p->v);
	p->v = NULL;
}

EXPORT void f0r_set_param_value(f0r_instance_t of, f0r_param_t value, int i)
{
	instance *p = of;
	if (i >= 0 && i < OPTIONS && *(double *)value != p->number[i]) {
		p->number[i] = *(double *)value;
		changed(p);
	} else if (i == OPTIONS && strcmp(*(char **)value, p->options)) {
		char *text = strdup(*(char **)value);
		if (!text)
			return;
		free(p->options);
		p->options = text;
		changed(p);
	}
}

EXPORT void f0r_get_param_value(f0r_instance_t of, f0r_param_t value, int i)
{
	instance *p = of;
	if (i >= 0 && i < OPTIONS)
		*(double *)value = p->number[i];
	else if (i == OPTIONS)
		*(char **)value = p->options;
}

static void begin(instance *p)
{
	vidfilter_format f = {.width = p->width, .height = p->height, .pixel_format = "rgba", .live = 1};
	char text[4096];
	int n = 0;
	for (int i = 0; i < OPTIONS; i++) { /* in thousandths: a locale may write 0,5 */
		int x = (numbers[i].least + p->number[i] * numbers[i].range) * 1000 + 0.5;
		n += snprintf(text + n, sizeof text - n, "%s%s=%d.%03d", i ? ":" : "", numbers[i].name, x / 1000, x % 1000);
	}
	if (*p->options)
		snprintf(text + n, sizeof text - n, ":%s", p->options);
	if (vidfilter_open(&p->v, &f, text))
		fprintf(stderr, "vidfilter: %s\n", vidfilter_error(p->v)); /* once, since frei0r has no errors */
}

/* Some hosts give the time in seconds, ffmpeg in milliseconds. A jump is back, or eight steps on. */
static int has_jumped(instance *p, double time)
{
	double step = time - p->time;
	int far = step < 0 || (p->step > 0 && step > 8 * p->step);
	p->time = time;
	if (step > 0)
		p->step = far ? 0 : step;
	return far;
}

/* A frame that cannot be filtered stays as it is. */
EXPORT void f0r_update(f0r_instance_t of, double time, const uint32_t *in, uint32_t *out)
{
	instance *p = of;
	ptrdiff_t stride = (ptrdiff_t)p->width * 4;
	vidfilter_frame frame = {.data = {(uint8_t *)in}, .stride = {stride}}, result = {.data = {(uint8_t *)out}, .stride = {stride}};
	int jump = has_jumped(p, time);
	if (!p->v)
		begin(p);
	else if (jump)
		vidfilter_reset(p->v);
	frame.time = p->frames++;
	if (vidfilter_push(p->v, &frame) || vidfilter_pull(p->v, &result))
		memcpy(out, in, stride * p->height);
}
