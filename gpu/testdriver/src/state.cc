#include "state.h"

#include <string.h>

#include "config.h"
#include "inside.h"
#include "memory.h"
#include "module.h"
#include "stream.h"
#include "texture.h"

std::mutex driver_lock;
std::condition_variable_any work_done;

namespace {
Handles<Context, CUcontext, 0x51> contexts;
thread_local Context *current;
thread_local std::vector<Context *> pushed; // those below it
} // namespace

std::vector<Device> &devices() {
	static std::vector<Device> all;
	return all;
}

Device *find_device(CUdevice number) {
	return number >= 0 && (size_t)number < devices().size() ? &devices()[(size_t)number] : nullptr;
}

Context *current_context() { return current; }

Context *open_context(Device &device) {
	auto *context = new Context{&device};
	context->handle = contexts.add(context);
	context->null = new_stream(*context);
	return context;
}

static int (*count_sessions)(CUcontext);

void vf_count_sessions(int (*of)(CUcontext)) { count_sessions = of; }

// The object is not deleted, since it may still be current in some threads.
void close_context(Context *context) {
	run_all(*context);
	if (int n = count_sessions ? count_sessions(context->handle) : 0) report_leak(*context, "leak: %d encoding sessions", n);
	free_handles(*context);
	free_modules(*context);
	free_textures(*context);
	free_memory(*context);
	delete_streams(*context);
	context->broken = CUDA_ERROR_CONTEXT_IS_DESTROYED;
	contexts.remove(context->handle);
}

// A leak is not the program's if it could not free. FFmpeg makes the context current to free.
bool refused(const char *name) {
	if (!config().call.hits()) return false;
	for (const char *frees : {"Free", "Destroy", "Unload", "Unregister", "Release", "PushCurrent"})
		if (strstr(name, frees)) config().leaks = 0;
	return true;
}

void report_leak(const Context &context, const char *format, ...) {
	if (!config().leaks || context.error()) return;
	va_list list;
	va_start(list, format);
	complain_list(format, list);
	va_end(list);
}

void vf_report_leak(CUcontext handle, const char *what) {
	std::lock_guard<std::mutex> guard(driver_lock);
	if (Context *context = contexts.find(handle)) report_leak(*context, "%s", what);
}

CUcontext vf_current() { return current ? current->handle : nullptr; }

int vf_device_of(CUcontext handle) {
	std::lock_guard<std::mutex> guard(driver_lock);
	Context *context = contexts.find(handle);
	return context ? context->device->number : -1;
}

CUresult cuInit(unsigned int flags) {
	std::lock_guard<std::mutex> guard(driver_lock);
	CUresult result = flags ? CUDA_ERROR_INVALID_VALUE : (CUresult)config().init;
	if (!result && config().devices < 1) result = CUDA_ERROR_NO_DEVICE;
	for (int i = 0; !result && i < config().devices && devices().size() < (size_t)config().devices; i++) {
		Device d;
		d.number = i;
		d.compute = config().compute[i < 8 ? i : 7];
		devices().push_back(d);
	}
	log_call("cuInit", result);
	return result;
}

CUresult cuDriverGetVersion(int *version) {
	*version = (int)config().version;
	return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice number) {
	return in_device("cuDevicePrimaryCtxRetain", number, [&](Device &d) {
		note(" device=%d", number);
		if (config().busy) return CUDA_ERROR_DEVICE_UNAVAILABLE;
		if (d.lost) return d.lost;
		if (!d.retained++) d.primary = open_context(d);
		*context = d.primary->handle;
		return CUDA_SUCCESS;
	});
}

CUresult cuDevicePrimaryCtxRelease(CUdevice number) {
	return in_device("cuDevicePrimaryCtxRelease", number, [&](Device &d) {
		note(" device=%d", number);
		if (!d.retained) return CUDA_ERROR_INVALID_CONTEXT;
		if (!--d.retained) close_context(d.primary);
		return CUDA_SUCCESS;
	});
}

CUresult cuCtxSetCurrent(CUcontext handle) {
	return in_driver("cuCtxSetCurrent", [&] {
		Context *context = contexts.find(handle);
		if (handle && !context) return CUDA_ERROR_INVALID_CONTEXT;
		current = context;
		return CUDA_SUCCESS;
	});
}

CUresult cuCtxGetCurrent(CUcontext *handle) {
	return in_driver("cuCtxGetCurrent", [&] {
		*handle = current ? current->handle : nullptr;
		return CUDA_SUCCESS;
	});
}

CUresult cuCtxPushCurrent(CUcontext handle) {
	return in_driver("cuCtxPushCurrent", [&] {
		Context *context = contexts.find(handle);
		if (!context) return CUDA_ERROR_INVALID_CONTEXT;
		pushed.push_back(current);
		current = context;
		return CUDA_SUCCESS;
	});
}

CUresult cuCtxPopCurrent(CUcontext *handle) {
	return in_driver("cuCtxPopCurrent", [&] {
		if (pushed.empty()) return CUDA_ERROR_INVALID_CONTEXT;
		*handle = current ? current->handle : nullptr;
		current = pushed.back();
		pushed.pop_back();
		return CUDA_SUCCESS;
	});
}

CUresult cuCtxSynchronize() {
	return in_context("cuCtxSynchronize", [](Context &context) { return run_all(context); });
}
