#include "camera.h"
#include <string.h>

// A gradient with a bar that moves by a block per picture, and never black: the H.264 below relies
// on it.
uint8_t luma(int x, int y, long n)
{
	if ((x / 16 + n) % 16 == 0)
		return 230;
	return (uint8_t)(40 + (x / 16 + y / 8) % 100);
}

size_t picture_size(uint32_t format, int w, int h)
{
	size_t pixels = (size_t)w * h;
	switch (format) {
	case V4L2_PIX_FMT_YUYV:
	case V4L2_PIX_FMT_UYVY:
		return 2 * pixels;
	case V4L2_PIX_FMT_NV12:
	case V4L2_PIX_FMT_YUV420:
		return pixels + 2 * (size_t)((w + 1) / 2) * ((h + 1) / 2);
	case V4L2_PIX_FMT_GREY:
		return pixels;
	case V4L2_PIX_FMT_RGB24:
		return 3 * pixels;
	case V4L2_PIX_FMT_H264:
		return 2 * (size_t)(w + 16) * (h + 16) + 4096;
	default: // MJPG
		return pixels + 4096;
	}
}

static void packed(uint8_t *to, int w, int h, long n, int first)
{
	for (int y = 0; y < h; y++)
		for (int x = 0; x < w; x++) {
			*to++ = first ? 128 : luma(x, y, n);
			*to++ = first ? luma(x, y, n) : 128;
		}
}

size_t draw(uint8_t *to, uint32_t format, int w, int h, long n, int damaged)
{
	size_t size = picture_size(format, w, h);
	switch (format) {
	case V4L2_PIX_FMT_MJPEG:
		size = draw_jpeg(to, w, h, n);
		return damaged ? size / 2 : size;
	case V4L2_PIX_FMT_H264:
		size = draw_h264(to, w, h, n);
		return damaged ? size / 2 : size;
	case V4L2_PIX_FMT_YUYV:
		packed(to, w, h, n, 0);
		break;
	case V4L2_PIX_FMT_UYVY:
		packed(to, w, h, n, 1);
		break;
	case V4L2_PIX_FMT_RGB24:
		for (size_t i = 0; i < size; i++)
			to[i] = luma((int)(i / 3) % w, (int)(i / 3) / w, n);
		break;
	default:
		memset(to, 128, size);
		for (int i = 0; i < w * h; i++)
			to[i] = luma(i % w, i / w, n);
	}
	return damaged ? size - 1 : size;
}
