#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

/* Hidden, like the jumps: symbols exported from the program would interpose the driver's. */
#pragma GCC visibility push(hidden)
#include "driver.h"
#include "libcuda.h"

void *vf_cuda_table[] = {
#define SYMBOL(name) (void *)vf_cuda_first,
#include "symbols.h"
#undef SYMBOL
};

static const char *const names[] = {
#define SYMBOL(name) #name,
#include "symbols.h"
#undef SYMBOL
};

enum { count = sizeof names / sizeof *names };

static struct vf_cuda_state state = {NULL, CUDA_ERROR_NOT_INITIALIZED};
static char load_error[512];
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* gorgonia.org/cu calls cuInit at program start and exits if it fails. So ours does nothing; the
 * driver's own is called when it is loaded, on first use. */
CUresult cuInit(unsigned int flags)
{
	(void)flags;
	return CUDA_SUCCESS;
}

static CUresult no_driver(void) { return CUDA_ERROR_NOT_INITIALIZED; }
static CUresult no_symbol(void) { return CUDA_ERROR_NOT_FOUND; }

/* Atomic, since other threads may be jumping through the table. */
static void set(int i, void *target) { __atomic_store_n(&vf_cuda_table[i], target, __ATOMIC_RELEASE); }

static void fail(void)
{
	const char *why = dlerror();
	strncpy(load_error, why ? why : "unknown", sizeof load_error - 1);
	state.load_error = load_error;
	for (int i = 0; i < count; i++)
		set(i, (void *)no_driver);
}

static void load(void)
{
	void *lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	CUresult (*init)(unsigned int) = lib ? (CUresult (*)(unsigned int))dlsym(lib, "cuInit") : NULL;
	if (!init) {
		fail();
		return;
	}
	state.init = init(0);
	for (int i = 0; i < count; i++) {
		void *target = dlsym(lib, names[i]);
		set(i, target ? target : (void *)no_symbol);
	}
}

void vf_cuda_load(void) { pthread_once(&once, load); }

const struct vf_cuda_state *vf_cuda_state(void)
{
	vf_cuda_load();
	return &state;
}

static struct vf_nvcuvid nvcuvid;
static struct vf_nvenc nvenc;
static pthread_once_t nvcuvid_once = PTHREAD_ONCE_INIT, nvenc_once = PTHREAD_ONCE_INIT;

static const char *loader_error(char text[512])
{
	const char *why = dlerror();
	return strncpy(text, why ? why : "unknown", 511);
}

static void load_nvcuvid(void)
{
	static char error[512];
	void *lib = dlopen("libnvcuvid.so.1", RTLD_NOW | RTLD_LOCAL);
	nvcuvid.decoder_caps = lib ? (vf_decoder_caps *)dlsym(lib, "cuvidGetDecoderCaps") : NULL;
	if (!nvcuvid.decoder_caps)
		nvcuvid.load_error = loader_error(error);
}

static void load_nvenc(void)
{
	static char error[512];
	void *lib = dlopen("libnvidia-encode.so.1", RTLD_NOW | RTLD_LOCAL);
	nvenc.version = lib ? (vf_encode_version *)dlsym(lib, "NvEncodeAPIGetMaxSupportedVersion") : NULL;
	nvenc.instance = nvenc.version ? (vf_encode_instance *)dlsym(lib, "NvEncodeAPICreateInstance") : NULL;
	if (!nvenc.instance)
		nvenc.load_error = loader_error(error);
}

const struct vf_nvcuvid *vf_nvcuvid(void)
{
	pthread_once(&nvcuvid_once, load_nvcuvid);
	return &nvcuvid;
}

const struct vf_nvenc *vf_nvenc(void)
{
	pthread_once(&nvenc_once, load_nvenc);
	return &nvenc;
}
