#include "sdl.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#define POINTER(result, name, parameters, arguments, needed) static result(*p_##name) parameters;
VF_SDL_FUNCTIONS(POINTER)
#undef POINTER

#define CALL(result, name, parameters, arguments, needed) \
	result sdl_##name parameters { return p_##name arguments; }
VF_SDL_FUNCTIONS(CALL)
#undef CALL

static const struct {
	const char *name;
	void **to;
	int needed;
} functions[] = {
#define ROW(result, name, parameters, arguments, needed) {"SDL_" #name, (void **)&p_##name, needed},
	VF_SDL_FUNCTIONS(ROW)
#undef ROW
};

enum { count = sizeof functions / sizeof *functions };

static char why[256];

const char *vf_sdl_load(const char *library)
{
	void *lib = dlopen(library, RTLD_NOW | RTLD_LOCAL); // never closed: drivers may crash
	if (!lib) {
		snprintf(why, sizeof why, "%s", dlerror());
		return why;
	}
	void *found[count];
	for (int i = 0; i < count; i++) {
		found[i] = dlsym(lib, functions[i].name);
		if (!found[i] && functions[i].needed) {
			snprintf(why, sizeof why, "%s is too old: it has no %s", library, functions[i].name);
			return why;
		}
	}
	for (int i = 0; i < count; i++)
		*functions[i].to = found[i];
	return NULL;
}

int vf_sdl_has_nv(void) { return p_UpdateNVTexture != NULL; }

// SDL_Event: a union that begins with the type and is 56 bytes large; there is room for more.
union event {
	uint32_t type;
	struct { uint32_t type, time, window; uint8_t kind, pad[3]; int32_t data[2]; } window;
	struct { uint32_t type, time, window; uint8_t state, repeat, pad[2]; int32_t scancode, sym; uint16_t mod; uint32_t unused; } key;
	struct { uint32_t type, time, window, which, state; int32_t x, y, dx, dy; } motion;
	struct { uint32_t type, time, window, which; uint8_t button, state, clicks, pad; int32_t x, y; } button;
	struct { uint32_t type, time, window, which; int32_t x, y; uint32_t flipped; } wheel;
	unsigned char room[128];
};

static void read_event(struct vf_event *to, const union event *e)
{
	*to = (struct vf_event){.type = e->type};
	switch (e->type) {
	case VF_WINDOW:
		to->kind = e->window.kind;
		break;
	case VF_KEY:
		to->key = e->key.sym, to->mods = e->key.mod, to->repeat = e->key.repeat;
		break;
	case VF_MOTION:
		to->x = e->motion.x, to->y = e->motion.y, to->dx = e->motion.dx, to->dy = e->motion.dy, to->buttons = e->motion.state;
		break;
	case VF_PRESS:
		to->x = e->button.x, to->y = e->button.y, to->buttons = e->button.button == 1;
		break;
	case VF_WHEEL:
		to->dy = e->wheel.flipped ? -e->wheel.y : e->wheel.y;
	}
}

int vf_wait(struct vf_event *to, int milliseconds)
{
	union event e;
	if (!(milliseconds > 0 ? sdl_WaitEventTimeout(&e, milliseconds) : sdl_PollEvent(&e)))
		return 0;
	read_event(to, &e);
	return 1;
}

int vf_push(const struct vf_event *from)
{
	union event e;
	memset(&e, 0, sizeof e);
	e.type = from->type;
	switch (from->type) {
	case VF_WINDOW:
		e.window.kind = from->kind;
		break;
	case VF_KEY:
		e.key.state = 1, e.key.sym = from->key, e.key.mod = from->mods, e.key.repeat = from->repeat;
		break;
	case VF_MOTION:
		e.motion.x = from->x, e.motion.y = from->y, e.motion.dx = from->dx, e.motion.dy = from->dy, e.motion.state = from->buttons;
		break;
	case VF_PRESS:
		e.button.button = from->buttons, e.button.state = 1, e.button.x = from->x, e.button.y = from->y;
		break;
	case VF_WHEEL:
		e.wheel.y = from->dy;
	}
	return sdl_PushEvent(&e) == 1 ? 0 : -1;
}
