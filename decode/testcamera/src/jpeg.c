#include "camera.h"
#include <string.h>

// A baseline JPEG of flat blocks, 4:2:2, without Huffman tables: like webcams' JPEGs, it implies
// the standard's tables.

typedef struct {
	uint8_t *at;
	uint32_t bits;
	int count;
} writer;

static void bits(writer *w, uint32_t value, int count)
{
	while (count-- > 0) {
		w->bits = w->bits << 1 | (value >> count & 1);
		if (++w->count < 8)
			continue;
		*w->at++ = (uint8_t)w->bits;
		if ((uint8_t)w->bits == 0xff)
			*w->at++ = 0;
		w->bits = 0;
		w->count = 0;
	}
}

// A block is a difference of means, then the code for "no more".
static void block(writer *w, int value, int *last, int chroma)
{
	static const struct {
		uint16_t code;
		uint8_t length;
	} dc[2][9] = {
		{{0, 2}, {2, 3}, {3, 3}, {4, 3}, {5, 3}, {6, 3}, {14, 4}, {30, 5}, {62, 6}},
		{{0, 2}, {1, 2}, {2, 2}, {6, 3}, {14, 4}, {30, 5}, {62, 6}, {126, 7}, {254, 8}},
	};
	int difference = value - *last, size = 0;
	*last = value;
	for (int d = difference < 0 ? -difference : difference; d; d >>= 1)
		size++;
	bits(w, dc[chroma][size].code, dc[chroma][size].length);
	bits(w, (uint32_t)(difference < 0 ? difference - 1 : difference) & ((1u << size) - 1), size);
	if (chroma)
		bits(w, 0, 2);
	else
		bits(w, 10, 4);
}

static uint8_t *segment(uint8_t *to, uint8_t marker, const uint8_t *data, int size)
{
	*to++ = 0xff;
	*to++ = marker;
	*to++ = (uint8_t)((size + 2) >> 8);
	*to++ = (uint8_t)(size + 2);
	memcpy(to, data, (size_t)size);
	return to + size;
}

size_t draw_jpeg(uint8_t *to, int width, int height, long n)
{
	uint8_t table[65];
	memset(table, 8, sizeof table); // a mean is coded as it is
	table[0] = 0;
	const uint8_t frame[] = {8, (uint8_t)(height >> 8), (uint8_t)height, (uint8_t)(width >> 8), (uint8_t)width, 3,
	                         1, 0x21, 0, 2, 0x11, 0, 3, 0x11, 0};
	const uint8_t scan[] = {3, 1, 0, 2, 0x11, 3, 0x11, 0, 63, 0};
	writer w = {to, 0, 0};
	*w.at++ = 0xff;
	*w.at++ = 0xd8;
	w.at = segment(w.at, 0xdb, table, sizeof table);
	w.at = segment(w.at, 0xc0, frame, sizeof frame);
	w.at = segment(w.at, 0xda, scan, sizeof scan);
	int y_mean = 0, u_mean = 0, v_mean = 0;
	for (int y = 0; y < height; y += 8)
		for (int x = 0; x < width; x += 16) {
			block(&w, luma(x, y, n) - 128, &y_mean, 0);
			block(&w, luma(x + 8, y, n) - 128, &y_mean, 0);
			block(&w, 0, &u_mean, 1);
			block(&w, 0, &v_mean, 1);
		}
	bits(&w, 0x7f, 7);
	*w.at++ = 0xff;
	*w.at++ = 0xd9;
	return (size_t)(w.at - to);
}
