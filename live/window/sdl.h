// The part of SDL 2 that the window needs, declared here so that the build needs no SDL headers,
// and loaded at run time so that the program runs without SDL. SDL's ABI has been stable since
// 2.0.
#ifndef VIDFILTER_WINDOW_SDL_H
#define VIDFILTER_WINDOW_SDL_H

#include <stddef.h>
#include <stdint.h>

typedef struct vf_sdl_window vf_window;
typedef struct vf_sdl_renderer vf_renderer;
typedef struct vf_sdl_texture vf_texture;
typedef struct { int x, y, w, h; } vf_rect;

typedef struct {
	const char *name;
	uint32_t flags, formats, format[16];
	int max_width, max_height;
} vf_renderer_info;

enum {
	VF_INIT_VIDEO = 0x20,
	// full screen at the desktop's resolution
	VF_WINDOW_HIDDEN = 0x8, VF_WINDOW_RESIZABLE = 0x20, VF_WINDOW_FULL_SCREEN = 0x1001,
	VF_WINDOW_HIGH_DPI = 0x2000, VF_WINDOW_CENTERED = 0x2fff0000,
	VF_TEXTURE_STREAMING = 1,
	VF_YUV_FULL_601 = 0, VF_YUV_601 = 1, VF_YUV_709 = 2, // SDL has no full range BT.709
	VF_IYUV = 0x56555949, VF_NV12 = 0x3231564e,
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	VF_RGBA = 0x16762004, // R in the lowest byte: SDL names formats by words
#else
	VF_RGBA = 0x16462004,
#endif
};

// F(result, name, parameters, arguments, needed): functions that are not needed may be missing
// from old versions of SDL.
#define VF_SDL_FUNCTIONS(F)                                                                                                                \
	F(int, Init, (uint32_t flags), (flags), 1)                                                                                             \
	F(void, Quit, (void), (), 1)                                                                                                           \
	F(const char *, GetError, (void), (), 1)                                                                                               \
	F(int, SetHint, (const char *name, const char *value), (name, value), 1)                                                               \
	F(const char *, GetCurrentVideoDriver, (void), (), 1)                                                                                  \
	F(int, GetDisplayUsableBounds, (int display, vf_rect *r), (display, r), 1)                                                             \
	F(vf_window *, CreateWindow, (const char *title, int x, int y, int w, int h, uint32_t flags), (title, x, y, w, h, flags), 1)           \
	F(void, DestroyWindow, (vf_window * w), (w), 1)                                                                                        \
	F(void, ShowWindow, (vf_window * w), (w), 1)                                                                                           \
	F(void, SetWindowTitle, (vf_window * w, const char *title), (w, title), 1)                                                             \
	F(void, SetWindowSize, (vf_window * w, int width, int height), (w, width, height), 1)                                                  \
	F(void, GetWindowSize, (vf_window * w, int *width, int *height), (w, width, height), 1)                                                \
	F(void, SetWindowPosition, (vf_window * w, int x, int y), (w, x, y), 1)                                                                \
	F(int, SetWindowFullscreen, (vf_window * w, uint32_t flags), (w, flags), 1)                                                            \
	F(vf_renderer *, CreateRenderer, (vf_window * w, int index, uint32_t flags), (w, index, flags), 1)                                     \
	F(void, DestroyRenderer, (vf_renderer * r), (r), 1)                                                                                    \
	F(int, GetRendererInfo, (vf_renderer * r, vf_renderer_info * info), (r, info), 1)                                                      \
	F(int, GetRendererOutputSize, (vf_renderer * r, int *w, int *h), (r, w, h), 1)                                                         \
	F(int, SetRenderDrawColor, (vf_renderer * r, uint8_t red, uint8_t green, uint8_t blue, uint8_t alpha), (r, red, green, blue, alpha), 1) \
	F(int, RenderClear, (vf_renderer * r), (r), 1)                                                                                         \
	F(int, RenderSetClipRect, (vf_renderer * r, const vf_rect *clip), (r, clip), 1)                                                        \
	F(int, RenderCopyEx,                                                                                                                   \
	  (vf_renderer * r, vf_texture * t, const vf_rect *from, const vf_rect *to, double angle, const void *centre, int flip),                \
	  (r, t, from, to, angle, centre, flip), 1)                                                                                             \
	F(int, RenderFillRect, (vf_renderer * r, const vf_rect *where), (r, where), 1)                                                         \
	F(void, RenderPresent, (vf_renderer * r), (r), 1)                                                                                      \
	F(int, RenderReadPixels, (vf_renderer * r, const vf_rect *where, uint32_t format, void *to, int pitch), (r, where, format, to, pitch), 1) \
	F(void, SetYUVConversionMode, (int mode), (mode), 1)                                                                                   \
	F(vf_texture *, CreateTexture, (vf_renderer * r, uint32_t format, int access, int w, int h), (r, format, access, w, h), 1)             \
	F(void, DestroyTexture, (vf_texture * t), (t), 1)                                                                                      \
	F(int, SetTextureBlendMode, (vf_texture * t, int mode), (t, mode), 1)                                                                  \
	F(int, UpdateTexture, (vf_texture * t, const vf_rect *where, const void *pixels, int pitch), (t, where, pixels, pitch), 1)             \
	F(int, UpdateYUVTexture, (vf_texture * t, const vf_rect *where, const uint8_t *y, int y_pitch, const uint8_t *u, int u_pitch,          \
		const uint8_t *v, int v_pitch), (t, where, y, y_pitch, u, u_pitch, v, v_pitch), 1)                                                 \
	F(int, UpdateNVTexture, (vf_texture * t, const vf_rect *where, const uint8_t *y, int y_pitch, const uint8_t *uv, int uv_pitch),        \
		(t, where, y, y_pitch, uv, uv_pitch), 0)                                                                                           \
	F(int, WaitEventTimeout, (void *event, int milliseconds), (event, milliseconds), 1)                                                    \
	F(int, PollEvent, (void *event), (event), 1)                                                                                           \
	F(int, PushEvent, (void *event), (event), 1)

// sdl_Name calls SDL_Name, once vf_sdl_load has succeeded.
#define DECLARE(result, name, parameters, arguments, needed) result sdl_##name parameters;
VF_SDL_FUNCTIONS(DECLARE)
#undef DECLARE

// Loads SDL by the name of its library. Returns NULL, or an error message that is valid until the
// next call. Not safe for concurrent use.
const char *vf_sdl_load(const char *library);

// Whether this SDL has NV12 textures: from 2.0.16 on.
int vf_sdl_has_nv(void);

// The fields of an event that are read; the rest is 0.
struct vf_event {
	uint32_t type;
	int kind;              // of an event of the window: one of VF_WINDOW_...
	int key, mods, repeat; // a key that was pressed
	int x, y, dx, dy;      // the pointer and its motion, in window units; dy of the wheel is up
	int buttons;           // bit 0: the left one is held
};

enum {
	VF_QUIT = 0x100, VF_WINDOW = 0x200, VF_KEY = 0x300, VF_MOTION = 0x400, VF_PRESS = 0x401, VF_WHEEL = 0x403, VF_WAKE = 0x8000,
	VF_WINDOW_EXPOSED = 3, VF_WINDOW_RESIZED = 6, VF_WINDOW_CLOSE = 14,
};

// Waits for an event up to the given time; 0 if none comes.
int vf_wait(struct vf_event *e, int milliseconds);

// Queues an event, from any thread; 0 on success.
int vf_push(const struct vf_event *e);

#endif
