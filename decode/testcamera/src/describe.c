#define _GNU_SOURCE
#include "camera.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char ordinary[] = "plug 1\n"
                               "mode YUYV 640x480 30 15\n"
                               "mode YUYV 1280x720 10\n"
                               "mode MJPG 640x480 30\n"
                               "mode MJPG 1280x720 30\n"
                               "mode MJPG 1920x1080 30\n";

// Reads without the functions that this library stands in for.
static int load(const char *path, char *text, size_t room)
{
	const char *folder = getenv("VIDFILTER_TESTCAMERA");
	if (strncmp(path, "/dev/video", 10))
		return 0;
	if (!folder) {
		strcpy(text, ordinary);
		return !strcmp(path, "/dev/video0");
	}
	char name[4096];
	snprintf(name, sizeof name, "%s/%s", folder, path + 5);
	int fd = (int)syscall(SYS_openat, AT_FDCWD, name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	ssize_t n = syscall(SYS_read, fd, text, room - 1);
	syscall(SYS_close, fd);
	text[n > 0 ? n : 0] = 0;
	return 1;
}

static struct v4l2_fract interval(const char *rate)
{
	double fps = atof(rate);
	if (fps != (int)fps) // 29.97 and its like
		return (struct v4l2_fract){1001, (uint32_t)(fps * 1.001 + 0.5) * 1000};
	return (struct v4l2_fract){1, (uint32_t)fps};
}

static void add_mode(device *d, char *words)
{
	if (d->count == MOST_MODES)
		return;
	mode *m = &d->modes[d->count++];
	char *next, *word = strtok_r(words, " ", &next);
	m->format = v4l2_fourcc(word[0], word[1], word[2], word[3]);
	word = strtok_r(NULL, " ", &next);
	if (sscanf(word, "%dx%d-%dx%d", &m->width, &m->height, &m->largest_width, &m->largest_height) == 2)
		m->largest_width = m->largest_height = 0;
	while ((word = strtok_r(NULL, " ", &next)) && m->rates < MOST_RATES) {
		char *to = strchr(word, '-');
		if (to) {
			m->range = 1;
			m->interval[m->rates++] = interval(to + 1);
		}
		m->interval[m->rates++] = interval(word);
	}
}

static int error_named(const char *name)
{
	static const struct {
		const char *name;
		int number;
	} known[] = {{"EACCES", EACCES}, {"EBUSY", EBUSY}, {"EIO", EIO}, {"ENOSPC", ENOSPC}, {"ENODEV", ENODEV}};
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (!strcmp(known[i].name, name))
			return known[i].number;
	return EPROTO;
}

static void set(device *d, const char *key, char *value)
{
	if (!strcmp(key, "plug"))
		d->plug = atol(value);
	else if (!strcmp(key, "name"))
		snprintf(d->name, sizeof d->name, "%s", value);
	else if (!strcmp(key, "mode"))
		add_mode(d, value);
	else if (!strcmp(key, "open"))
		d->open_error = error_named(value);
	else if (!strcmp(key, "format"))
		d->format_error = error_named(value);
	else if (!strcmp(key, "stream"))
		d->stream_error = error_named(value);
	else if (!strcmp(key, "dequeue"))
		d->dequeue_error = error_named(value);
	else if (!strcmp(key, "capture"))
		d->no_capture = !strcmp(value, "no");
	else if (!strcmp(key, "silent"))
		d->silent = 1;
	else if (!strcmp(key, "takes")) {
		for (char *next, *word = strtok_r(value, " ", &next); word && d->takes_count < MOST_TAKEN; word = strtok_r(NULL, " ", &next))
			d->takes[d->takes_count++] = v4l2_fourcc(word[0], word[1], word[2], word[3]);
	} else if (!strcmp(key, "keeps"))
		sscanf(value, "%dx%d", &d->keeps_width, &d->keeps_height);
	else if (!strcmp(key, "damage"))
		d->damage = atoi(value);
	else if (!strcmp(key, "rates")) {
		d->fixed_rate = 1;
		d->no_rates = !strcmp(value, "unknown");
	} else if (!strcmp(key, "colour")) {
		d->colourspace = strstr(value, "709") ? V4L2_COLORSPACE_REC709 : V4L2_COLORSPACE_SMPTE170M;
		d->quantization = strstr(value, "full") ? V4L2_QUANTIZATION_FULL_RANGE : V4L2_QUANTIZATION_LIM_RANGE;
	} else if (!strcmp(key, "clock"))
		d->clock = !strcmp(value, "wall") ? 1 : 2;
	else {
		fprintf(stderr, "test camera: no setting %s\n", key);
		abort();
	}
}

static void parse(char *text, device *d)
{
	char *next;
	memset(d, 0, sizeof *d);
	strcpy(d->name, "Test Camera");
	for (char *line = strtok_r(text, "\n", &next); line; line = strtok_r(NULL, "\n", &next)) {
		char *value = strchr(line, ' ');
		if (value) {
			*value = 0;
			set(d, line, value + 1);
		}
	}
}

int describe(const char *path, device *d)
{
	char text[8192];
	if (!load(path, text, sizeof text))
		return 0;
	parse(text, d);
	return 1;
}

int describe_open(const handle *h, device *d)
{
	if (h->description < 0)
		return describe(h->path, d) && d->plug == h->plug;
	struct stat s;
	char text[8192];
	ssize_t n = pread(h->description, text, sizeof text - 1, 0);
	if (n < 0 || fstat(h->description, &s) < 0 || s.st_nlink == 0)
		return 0;
	text[n] = 0;
	parse(text, d);
	return 1;
}
