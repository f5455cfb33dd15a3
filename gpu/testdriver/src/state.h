// Devices, contexts, handles, and the common frame of all API functions.
#pragma once
#include <condition_variable>
#include <mutex>
#include <vector>

#include "api.h"
#include "report.h"

struct Context;
struct Stream;

struct Device {
	int number = 0, compute = 0; // 90 is 9.0
	size_t used = 0;             // bytes of memory in use
	CUresult lost = CUDA_SUCCESS;
	Context *primary = nullptr;
	int retained = 0;
};

enum Engine { COPY_IN, KERNELS, COPY_OUT, NO_ENGINE };

struct Context {
	Device *device;
	CUcontext handle = nullptr;
	CUresult broken = CUDA_SUCCESS; // once set, the result of every call
	bool busy = false;              // a thread is running its work
	Stream *null = nullptr;         // the legacy default stream
	int64_t engine[3] = {};         // virtual time until which each is busy
	int64_t kernels_end = 0;        // real time at which the last kernel ends, with slow kernels

	CUresult error() const { return device->lost ? device->lost : broken; }
};

// Objects by handle. A process never reuses a handle, so destroyed handles and handles of another
// kind are never valid.
template <class T, class Handle, uint64_t KIND> class Handles {
	std::vector<T *> all;

public:
	Handle add(T *object) {
		all.push_back(object);
		return (Handle)(KIND << 48 | all.size() << 4);
	}
	T *find(Handle handle) const {
		uint64_t n = ((uint64_t)handle ^ KIND << 48) >> 4;
		return n && n <= all.size() ? all[n - 1] : nullptr;
	}
	void remove(Handle handle) { all[(((uint64_t)handle ^ KIND << 48) >> 4) - 1] = nullptr; }
	template <class F> void each(F f) {
		for (size_t i = 0; i < all.size(); i++)
			if (all[i]) f((Handle)(KIND << 48 | (i + 1) << 4), *all[i]);
	}
};

// The driver's only lock. It is released while work sleeps.
extern std::mutex driver_lock;
extern std::condition_variable_any work_done;

// The devices, empty before cuInit has succeeded.
std::vector<Device> &devices();
Device *find_device(CUdevice number);

Context *current_context(); // of this thread

// close_context frees everything that the context still holds.
Context *open_context(Device &device);
void close_context(Context *context);
// Complains about a leak if the test enabled leaks and the context is not broken: in a broken
// context programs cannot free anything.
void report_leak(const Context &context, const char *format, ...) __attribute__((format(printf, 2, 3)));

// refused counts a call and returns whether it fails without doing anything.
bool refused(const char *name);

// in_driver runs the body of an API function.
template <class Body> CUresult in_driver(const char *name, Body body) {
	std::lock_guard<std::mutex> guard(driver_lock);
	CUresult result = refused(name) ? CUDA_ERROR_UNKNOWN : devices().empty() ? CUDA_ERROR_NOT_INITIALIZED : body();
	log_call(name, result);
	return result;
}

// in_context runs one that needs a current context that is not broken.
template <class Body> CUresult in_context(const char *name, Body body) {
	return in_driver(name, [&]() -> CUresult {
		Context *context = current_context();
		if (!context) return CUDA_ERROR_INVALID_CONTEXT;
		if (context->error()) return context->error();
		return body(*context);
	});
}

// in_device runs one that takes a device.
template <class Body> CUresult in_device(const char *name, CUdevice number, Body body) {
	return in_driver(name, [&]() -> CUresult {
		Device *device = find_device(number);
		return device ? body(*device) : CUDA_ERROR_INVALID_DEVICE;
	});
}
