// Streams and events. Work waits in its stream until something waits for it: a host that is too early sees that it is.
#pragma once
#include <deque>
#include <memory>

#include "state.h"

// A piece of work.
struct Work {
	uint64_t number = 0; // in the order of the calls, over all streams
	int64_t after = 0;   // not done before, in real time; NEVER for a kernel that hangs
	virtual CUresult run() = 0;
	// The work of another stream that has to be done before this; null if there is none.
	virtual Stream *waits_for() { return nullptr; }
	// Copies now what would be read later from a stretch of the host's memory, since that is about to change.
	virtual void read_now(const uint8_t *, size_t) {}
	virtual ~Work() {}
};

constexpr int64_t NEVER = INT64_MAX;

// All work that was in a stream at some time, and when it ends in virtual time.
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
	uint64_t last = 0;  // number of the last work that was put in
	int64_t time = 0;   // virtual: when that will have ended
	bool asked = false; // since then whether it is done

	explicit Stream(Context &c) : context(&c) {}
	// Puts work in, which keeps an engine busy for that many nanoseconds of virtual time.
	void put(Work *work, Engine engine, int64_t duration);
	Point now();
};

// Streams live until their context ends: work may be left in one that was destroyed.
Stream *new_stream(Context &context);
void delete_streams(Context &context);
// The stream of a handle, the default one for none; null for a handle that is not of this context.
Stream *find_stream(Context &context, CUstream handle);

// Runs what has to run until a point is done, or everything. The answer is the context's.
CUresult run_until(const Point &point);
CUresult run_all(Context &context);

// Tells all work that is still waiting: see Work::read_now.
void read_all_now(Context &context, const uint8_t *memory, size_t size);

// Whether a point is done, for those who only ask: the first question changes nothing, each further one does a piece of
// work if that takes no time.
CUresult query(const Point &point, bool &asked);

// Forgets the handles of a context's streams and events.
void free_handles(Context &context);

// Counts a call that a device answers later, which is when it may be lost.
CUresult count_async(Context &context);

// in_stream runs the body of a function that puts work into a stream.
template <class Body> CUresult in_stream(const char *name, CUstream handle, Body body) {
	return in_context(name, [&](Context &context) -> CUresult {
		note(" stream=%llu", (unsigned long long)handle >> 4 & 0xffffffff);
		if (CUresult lost = count_async(context)) return lost;
		Stream *stream = find_stream(context, handle);
		return stream ? body(*stream) : CUDA_ERROR_INVALID_HANDLE;
	});
}
