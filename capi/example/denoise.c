/* Denoises 8-bit 4:2:0 Y4M: denoise strength=1.2:quality=good <in.y4m >out.y4m */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vidfilter.h>

static vidfilter *v;
static vidfilter_format f = {.pixel_format = "yuv420p", .lossless = 1}; /* 1 as vidfilter -i in.y4m does */

static void check(int code)
{
	if (code < 0) {
		fprintf(stderr, "denoise: %s\n", vidfilter_error(v));
		exit(1);
	}
}

static void write_results(void)
{
	for (vidfilter_frame r = {0}; vidfilter_pull(v, &r) == VIDFILTER_OK; memset(&r, 0, sizeof r)) {
		puts("FRAME");
		for (int i = 0; i < 3; i++)
			for (int y = 0, w = i ? (f.width + 1) / 2 : f.width, h = i ? (f.height + 1) / 2 : f.height; y < h; y++)
				fwrite(r.data[i] + y * r.stride[i], 1, w, stdout);
	}
}

int main(int argc, char **argv)
{
	char line[256];
	if (!fgets(line, sizeof line, stdin) || sscanf(line, "YUV4MPEG2 W%d H%d", &f.width, &f.height) != 2 || strstr(line, "p1"))
		return fprintf(stderr, "denoise: give 8-bit 4:2:0 Y4M\n"), 1;
	check(vidfilter_open(&v, &f, argc > 1 ? argv[1] : ""));
	fputs(line, stdout);
	size_t luma = (size_t)f.width * f.height, w = (f.width + 1) / 2, size = luma + 2 * w * ((f.height + 1) / 2);
	uint8_t *b = malloc(size);
	while (fgets(line, sizeof line, stdin) && fread(b, 1, size, stdin) == size) {
		check(vidfilter_push(v, &(vidfilter_frame){
			.data = {b, b + luma, b + (size + luma) / 2}, .stride = {f.width, w, w}})); /* copied: there is no release */
		write_results();
	}
	check(vidfilter_flush(v));
	write_results();
	vidfilter_close(v);
	free(b);
	return fflush(stdout) != 0;
}
