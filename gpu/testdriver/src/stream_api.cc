// The API functions for streams and events.
#include "stream.h"

namespace {

struct Event {
	Context *context;
	unsigned flags;
	Point point; // in the stream, at the last record
	bool recorded, asked;
};

Handles<Stream, CUstream, 0x52> streams;
Handles<Event, CUevent, 0x53> events;

// in_event runs the body of an API function that takes an event.
template <class Body> CUresult in_event(const char *name, CUevent handle, Body body) {
	return in_context(name, [&](Context &) -> CUresult {
		note(" event=%llu", (unsigned long long)handle >> 4 & 0xffffffff);
		Event *event = events.find(handle);
		return event ? body(*event) : CUDA_ERROR_INVALID_HANDLE;
	});
}

// A wait for a point in another stream.
struct Wait : Work {
	Point point;
	explicit Wait(const Point &p) : point(p) {}
	CUresult run() override { return CUDA_SUCCESS; }
	Stream *waits_for() override { return point.done() ? nullptr : point.stream; }
};

} // namespace

Stream *find_stream(Context &context, CUstream handle) {
	if ((uint64_t)handle <= 1) return context.null;
	Stream *s = streams.find(handle);
	return s && s->context == &context ? s : nullptr;
}

void free_handles(Context &context) {
	streams.each([&](CUstream handle, Stream &s) {
		if (s.context != &context) return;
		report_leak(context, "leak: a stream");
		streams.remove(handle);
	});
	events.each([&](CUevent handle, Event &e) {
		if (e.context != &context) return;
		report_leak(context, "leak: an event");
		events.remove(handle);
		delete &e;
	});
}

CUresult cuStreamCreate(CUstream *handle, unsigned int flags) {
	return in_context("cuStreamCreate", [&](Context &context) {
		if (flags & ~(unsigned)CU_STREAM_NON_BLOCKING) return CUDA_ERROR_INVALID_VALUE;
		Stream *s = new_stream(context);
		s->flags = flags;
		*handle = streams.add(s);
		return CUDA_SUCCESS;
	});
}

// Work still in the stream is done nevertheless.
CUresult cuStreamDestroy(CUstream handle) {
	return in_context("cuStreamDestroy", [&](Context &) {
		if (!streams.find(handle)) return CUDA_ERROR_INVALID_HANDLE;
		streams.remove(handle);
		return CUDA_SUCCESS;
	});
}

CUresult cuStreamSynchronize(CUstream handle) {
	return in_context("cuStreamSynchronize", [&](Context &context) {
		Stream *s = find_stream(context, handle);
		return s ? run_until(s->now()) : CUDA_ERROR_INVALID_HANDLE;
	});
}

CUresult cuStreamQuery(CUstream handle) {
	return in_context("cuStreamQuery", [&](Context &context) {
		Stream *s = find_stream(context, handle);
		return s ? query(s->now(), s->asked) : CUDA_ERROR_INVALID_HANDLE;
	});
}

CUresult cuStreamWaitEvent(CUstream stream, CUevent handle, unsigned int) {
	return in_stream("cuStreamWaitEvent", stream, [&](Stream &s) {
		Event *event = events.find(handle);
		if (!event) return CUDA_ERROR_INVALID_HANDLE;
		if (event->context != s.context) return CUDA_ERROR_NOT_SUPPORTED;
		s.time = s.time > event->point.time ? s.time : event->point.time;
		s.put(new Wait(event->point), NO_ENGINE, 0);
		return CUDA_SUCCESS;
	});
}

CUresult cuEventCreate(CUevent *handle, unsigned int flags) {
	return in_context("cuEventCreate", [&](Context &context) {
		*handle = events.add(new Event{&context, flags, {}, false, false});
		return CUDA_SUCCESS;
	});
}

CUresult cuEventDestroy(CUevent handle) {
	return in_event("cuEventDestroy", handle, [&](Event &event) {
		events.remove(handle);
		delete &event;
		return CUDA_SUCCESS;
	});
}

CUresult cuEventRecord(CUevent handle, CUstream stream) {
	return in_stream("cuEventRecord", stream, [&](Stream &s) {
		Event *event = events.find(handle);
		if (!event || event->context != s.context) return CUDA_ERROR_INVALID_HANDLE;
		event->point = s.now();
		event->recorded = true;
		event->asked = false;
		return CUDA_SUCCESS;
	});
}

CUresult cuEventSynchronize(CUevent handle) {
	return in_event("cuEventSynchronize", handle, [](Event &event) { return run_until(event.point); });
}

CUresult cuEventQuery(CUevent handle) {
	return in_event("cuEventQuery", handle, [](Event &event) { return query(event.point, event.asked); });
}

CUresult cuEventElapsedTime(float *milliseconds, CUevent start, CUevent end) {
	return in_event("cuEventElapsedTime", end, [&](Event &last) {
		Event *first = events.find(start);
		if (!first) return CUDA_ERROR_INVALID_HANDLE;
		for (Event *e : {first, &last}) {
			if (!e->recorded || e->flags & CU_EVENT_DISABLE_TIMING) return CUDA_ERROR_INVALID_HANDLE;
			if (!e->point.done()) return CUDA_ERROR_NOT_READY;
		}
		*milliseconds = (float)(last.point.time - first->point.time) / 1e6f;
		return CUDA_SUCCESS;
	});
}
