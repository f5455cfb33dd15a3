#include "camera.h"
#include <string.h>

// H.264 with raw macroblocks (I_PCM); every picture is a key frame with its parameter sets.

typedef struct {
	uint8_t *at;
	uint32_t bits;
	int count, zeros;
} writer;

static void byte(writer *w, uint8_t b)
{
	if (w->zeros == 2 && b <= 3) {
		*w->at++ = 3;
		w->zeros = 0;
	}
	w->zeros = b ? 0 : w->zeros + 1;
	*w->at++ = b;
}

static void u(writer *w, uint32_t value, int count)
{
	while (count-- > 0) {
		w->bits = w->bits << 1 | (value >> count & 1);
		if (++w->count == 8) {
			byte(w, (uint8_t)w->bits);
			w->bits = 0;
			w->count = 0;
		}
	}
}

static void ue(writer *w, uint32_t value)
{
	int size = 0;
	for (uint32_t v = value + 1; v > 1; v >>= 1)
		size++;
	u(w, 0, size);
	u(w, value + 1, size + 1);
}

static void begin(writer *w, uint8_t kind)
{
	const uint8_t code[] = {0, 0, 0, 1};
	memcpy(w->at, code, sizeof code);
	w->at += sizeof code;
	w->zeros = 0;
	byte(w, kind);
}

static void align(writer *w)
{
	while (w->count)
		u(w, 0, 1);
}

static void end(writer *w)
{
	u(w, 1, 1);
	align(w);
}

static void parameters(writer *w, int wide, int high, int width, int height)
{
	begin(w, 0x67);
	u(w, 66, 8); // baseline
	u(w, 0xc0, 8);
	u(w, 40, 8);
	ue(w, 0);
	ue(w, 0); // frame_num in 4 bits
	ue(w, 2); // shown as decoded
	ue(w, 1);
	u(w, 0, 1);
	ue(w, (uint32_t)wide - 1);
	ue(w, (uint32_t)high - 1);
	u(w, 1, 1);
	u(w, 1, 1);
	u(w, 1, 1); // cropping, in units of two
	ue(w, 0);
	ue(w, (uint32_t)(wide * 16 - width) / 2);
	ue(w, 0);
	ue(w, (uint32_t)(high * 16 - height) / 2);
	u(w, 0, 1);
	end(w);
	begin(w, 0x68);
	ue(w, 0);
	ue(w, 0);
	u(w, 0, 2); // CAVLC
	ue(w, 0);
	ue(w, 0);
	ue(w, 0);
	u(w, 0, 3);
	ue(w, 0); // quantizers: se(0) is written alike
	ue(w, 0);
	ue(w, 0);
	u(w, 4, 3); // deblocking is signalled
	end(w);
}

static void macroblock(writer *w, int left, int top, long n)
{
	ue(w, 25);
	align(w);
	for (int i = 0; i < 256; i++)
		u(w, luma(left + i % 16, top + i / 16, n), 8);
	for (int i = 0; i < 128; i++)
		u(w, 128, 8);
}

size_t draw_h264(uint8_t *to, int width, int height, long n)
{
	int wide = (width + 15) / 16, high = (height + 15) / 16;
	writer w = {to, 0, 0, 0};
	parameters(&w, wide, high, width, height);
	begin(&w, 0x65);
	ue(&w, 0);
	ue(&w, 7); // I
	ue(&w, 0);
	u(&w, 0, 4);
	ue(&w, (uint32_t)n % 2); // idr_pic_id
	u(&w, 0, 2);
	ue(&w, 0);
	ue(&w, 1); // no deblocking
	for (int y = 0; y < high; y++)
		for (int x = 0; x < wide; x++)
			macroblock(&w, 16 * x, 16 * y, n);
	end(&w);
	return (size_t)(w.at - to);
}
