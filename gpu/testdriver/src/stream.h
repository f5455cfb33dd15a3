// Streams and events. Work runs only when something waits for it, which exposes hosts that read
// results too early.
#pragma once
#include <deque>
#include <memory>

#include "state.h"

// A piece of work.
struct Work {
	uint64_t number = 0; // in the order of the calls, over all streams
	int64_t after = 0;   // earliest real time; NEVER for a kernel that hangs
	virtual CUresult run() = 0;
	// The stream whose first work must be done before this, or null.
	virtual Stream *waits_for() { return nullptr; }
	// Reads the given part of host memory now instead of in run, since it is about to change.
	virtual void read_now(const uint8_t *, size_t) {}
	virtual ~Work() {}
};

constexpr int64_t NEVER = INT64_MAX;

// All work that was in a stream at some moment, and the virtual time of its end.
struct Point {
	Stream *stream = nullptr;
	uint64_t number = 0;
	int64_t time = 0;
	bool done() const;
};

struct Stream {
	Context *context;
	unsigned flags = CU_STREAM_DEFAULT;
	std::deque<std::unique_ptr<Work>> queue;
	uint64_t last = 0;  // number of the latest work
	int64_t time = 0;   // virtual time of its end
	bool asked = false; // queried since then

	explicit Stream(Context &c) : context(&c) {}
	// Queues work, which keeps an engine busy for duration nanoseconds of virtual time.
	void put(Work *work, Engine engine, int64_t duration);
	Point now();
};

// Streams live until their context ends, since destroyed ones may still have work.
Stream *new_stream(Context &context);
void delete_streams(Context &context);
// The stream of a handle (0 is the default stream), or null for a handle of another context.
Stream *find_stream(Context &context, CUstream handle);

// Run the work that a point depends on, or everything. They return the context's error.
CUresult run_until(const Point &point);
CUresult run_all(Context &context);

// Calls Work::read_now for all queued work.
void read_all_now(Context &context, const uint8_t *memory, size_t size);

// Returns whether a point is done, without waiting. The first query runs no work. Each further one
// runs one piece of work that need not wait.
CUresult query(const Point &point, bool &asked);

// Forgets the handles of a context's streams and events.
void free_handles(Context &context);

// Counts an asynchronous call, at which a device may be lost.
CUresult count_async(Context &context);

// in_stream runs the body of an API function that queues work in a stream.
template <class Body> CUresult in_stream(const char *name, CUstream handle, Body body) {
	return in_context(name, [&](Context &context) -> CUresult {
		note(" stream=%llu", (unsigned long long)handle >> 4 & 0xffffffff);
		if (CUresult lost = count_async(context)) return lost;
		Stream *stream = find_stream(context, handle);
		return stream ? body(*stream) : CUDA_ERROR_INVALID_HANDLE;
	});
}
