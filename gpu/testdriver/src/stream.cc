#include "stream.h"

#include <time.h>

#include <algorithm>

#include "config.h"

namespace {

std::vector<Stream *> streams; // destroyed ones too

// Virtual time in nanoseconds; advances with each call and each wait.
int64_t host_time;

int64_t real_time() {
	timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

bool blocking(const Stream &s) { return !(s.flags & CU_STREAM_NON_BLOCKING); }

// Whether two streams wait for each other, as the default stream does with blocking ones.
bool ordered(const Stream &a, const Stream &b) {
	const Stream *null = a.context->null;
	return &a != &b && a.context == b.context && blocking(a) && blocking(b) && (&a == null || &b == null);
}

// A stream whose first work must be done before s's, or null.
Stream *ahead_of(Stream &s) {
	Work &work = *s.queue.front();
	if (Stream *other = work.waits_for()) return other;
	for (Stream *other : streams)
		if (ordered(s, *other) && !other->queue.empty() && other->queue.front()->number < work.number) return other;
	return nullptr;
}

// The stream whose first work must be done next to get to s's.
Stream &next(Stream &s) {
	Stream *at = &s;
	while (Stream *other = ahead_of(*at)) at = other;
	return *at;
}

void sleep_until(int64_t time) {
	driver_lock.unlock();
	timespec t = {time / 1000000000, time % 1000000000};
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, nullptr)) {}
	driver_lock.lock();
}

void run_first(Stream &s) {
	Work &work = *s.queue.front();
	Context &context = *s.context;
	if (!context.error() && work.after > real_time()) sleep_until(work.after);
	// A broken context drops its work.
	CUresult result = context.error() ? CUDA_SUCCESS : work.run();
	if (result) context.broken = result;
	s.queue.pop_front();
}

// Makes this thread the only one to run the context's work.
class Turn {
	Context &context;

public:
	explicit Turn(Context &c) : context(c) {
		work_done.wait(driver_lock, [&] { return !context.busy; });
		context.busy = true;
	}
	~Turn() {
		context.busy = false;
		work_done.notify_all();
	}
};

// With a seed, runs some of the queued work as soon as it may run: of random streams, in a random
// amount.
void run_ahead(Context &context) {
	static uint32_t state = (uint32_t)config().ahead;
	if (!config().ahead || context.busy) return;
	auto random = [](size_t n) {
		state = state * 1664525 + 1013904223;
		return (state >> 8) % n;
	};
	for (size_t i = random(8); i > 0; i--) {
		Stream *some = streams[random(streams.size())];
		if (some->context != &context || some->queue.empty()) continue;
		Stream &s = next(*some);
		if (s.queue.front()->after > real_time()) return;
		Turn turn(context);
		run_first(s);
	}
}

} // namespace

bool Point::done() const { return !stream || stream->queue.empty() || stream->queue.front()->number > number; }

void Stream::put(Work *work, Engine engine, int64_t duration) {
	static uint64_t count;
	run_ahead(*context);
	int64_t begin = host_time += 1000;
	if (engine != NO_ENGINE) begin = std::max(begin, context->engine[engine]);
	for (Stream *other : streams)
		if (other == this || ordered(*this, *other)) begin = std::max(begin, other->time);
	time = begin + duration;
	if (engine != NO_ENGINE) context->engine[engine] = time;
	if (engine == KERNELS && config().slow) {
		context->kernels_end = std::max(context->kernels_end, real_time()) + config().slow;
		work->after = std::max(work->after, context->kernels_end);
	}
	work->number = last = ++count;
	asked = false;
	queue.emplace_back(work);
}

Point Stream::now() { return {this, last, std::max(time, host_time)}; }

Stream *new_stream(Context &context) {
	streams.push_back(new Stream(context));
	return streams.back();
}

void delete_streams(Context &context) {
	for (size_t i = streams.size(); i-- > 0;)
		if (streams[i]->context == &context) {
			delete streams[i];
			streams.erase(streams.begin() + (long)i);
		}
}

CUresult run_until(const Point &point) {
	if (!point.stream) return CUDA_SUCCESS;
	Context &context = *point.stream->context;
	Turn turn(context);
	while (!point.done()) run_first(next(*point.stream));
	host_time = std::max(host_time, point.time);
	return context.error();
}

CUresult run_all(Context &context) {
	for (size_t i = 0; i < streams.size(); i++) {
		// An odd order runs the streams in reverse.
		Stream *s = streams[config().order % 2 ? streams.size() - 1 - i : i];
		if (s->context == &context) run_until(s->now());
	}
	return context.error();
}

void read_all_now(Context &context, const uint8_t *memory, size_t size) {
	for (Stream *s : streams)
		if (s->context == &context)
			for (auto &work : s->queue) work->read_now(memory, size);
}

CUresult query(const Point &point, bool &asked) {
	if (!point.stream) return CUDA_SUCCESS;
	Context &context = *point.stream->context;
	if (asked && !context.busy && !point.done()) {
		Stream &s = next(*point.stream);
		Turn turn(context);
		if (s.queue.front()->after <= real_time()) run_first(s);
	}
	asked = true;
	if (context.error()) return context.error();
	return point.done() ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

CUresult count_async(Context &context) {
	CUresult &lost = context.device->lost;
	if (config().lost.hits()) lost = CUDA_ERROR_UNKNOWN;
	if (config().ecc.hits()) lost = CUDA_ERROR_ECC_UNCORRECTABLE;
	return lost;
}
