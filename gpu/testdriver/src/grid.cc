// A block's threads are fibres. The lanes of a warp run one after another, each to its next stop:
// an operation of the whole warp, the block's barrier, or the end. All must stop at the same one.
// At an operation it is executed and the lanes go on; at the barrier or the end the next warp
// runs, until all have arrived. The driver runs one kernel at a time, so the state is global.
#include "grid.h"

#include <stdio.h>
#include <string.h>
#include <utility>

#include "config.h"
#include "fibre.h"
#include "memory.h"
#include "report.h"

vf_place vf_here;

namespace {

constexpr int WARP = 32;
constexpr uint8_t POISON = 0x7f, GUARD = 0xc3; // 0x7f7f is NaN as a half
constexpr size_t GUARD_SIZE = 1024;

// The stop of a lane: operation is null at the barrier and at the end.
struct Stop {
	const char *name;
	vf_collective *operation;
	bool operator==(const Stop &s) const { return operation == s.operation && (name == s.name || !strcmp(name, s.name)); }
};
const Stop BARRIER = {"the block's barrier", nullptr}, END = {"its end", nullptr};

struct Lane {
	Fibre fibre;
	Stop stop;
	void *mine; // its argument for the operation
	int x, y;
};

Lane lanes[MAX_THREADS];
Lane *running;
Fibre scheduler;
const Launch *launch;
unsigned block_z; // only for messages; kernels do not use it
CUresult failure;
alignas(16) uint8_t shared[MAX_SHARED + GUARD_SIZE];

int threads() { return (int)(launch->block[0] * launch->block[1] * launch->block[2]); }

// Orders that differ between iterations, but not between runs of the program; 0, 1, 2, ... without
// a seed.
struct Order {
	int at[WARP];
	explicit Order(int n) {
		static uint32_t state = (uint32_t)config().order;
		for (int i = 0; i < n; i++) at[i] = i;
		for (int i = n - 1; config().order && i > 0; i--) {
			state = state * 1664525 + 1013904223;
			std::swap(at[i], at[(state >> 8) % (uint32_t)(i + 1)]);
		}
	}
};

void stop_at(const Stop &stop) {
	running->stop = stop;
	switch_fibre(running->fibre, scheduler);
}

void run_lane(Lane &lane) {
	running = &lane;
	vf_here.thread_x = lane.x;
	vf_here.thread_y = lane.y;
	vf_here.lane = (int)(&lane - lanes) % WARP;
	switch_fibre(scheduler, lane.fibre);
}

void lane_main() {
	launch->kernel->run(launch->args);
	for (;;) stop_at(END);
}

__attribute__((format(printf, 2, 3))) void fail(CUresult result, const char *format, ...) {
	char text[500];
	va_list list;
	va_start(list, format);
	vsnprintf(text, sizeof text, format, list);
	va_end(list);
	complain("kernel %s, block (%d, %d, %u): %s", launch->name, vf_here.block_x, vf_here.block_y, block_z, text);
	failure = result;
}

// Fails with the stops of a range of lanes.
void fail_parted(const char *what, int first, int end) {
	char text[400];
	size_t used = 0;
	for (int from = first, to; from < end && used < sizeof text; from = to) {
		for (to = from + 1; to < end && lanes[to].stop == lanes[from].stop; to++) {}
		used += (size_t)snprintf(text + used, sizeof text - used, "%s %d to %d at %s", used ? "," : "", from, to - 1,
		                         lanes[from].stop.name);
	}
	fail(CUDA_ERROR_LAUNCH_FAILED, "the threads of a %s parted:%s", what, text);
}

bool together(int first, int end) {
	for (int i = first + 1; i < end; i++)
		if (!(lanes[i].stop == lanes[first].stop)) return false;
	return true;
}

// Executes the operation at which the lanes of a warp have stopped.
void collect(int first, int end) {
	if (end - first < WARP) return fail(CUDA_ERROR_LAUNCH_FAILED, "%s in a warp of %d threads", lanes[first].stop.name, end - first);
	void *parts[WARP];
	for (int i = 0; i < WARP; i++) parts[i] = lanes[first + i].mine;
	lanes[first].stop.operation(parts);
}

// Runs a warp to the barrier or the end.
void run_warp(int first) {
	int end = first + WARP < threads() ? first + WARP : threads();
	Order order(end - first);
	while (!failure) {
		for (int i = 0; i < end - first && !failure; i++) run_lane(lanes[first + order.at[i]]);
		if (failure) return;
		if (!together(first, end)) return fail_parted("warp", first, end);
		if (!lanes[first].stop.operation) return;
		collect(first, end);
	}
}

void start_block() {
	memset(shared, POISON, launch->shared);
	memset(shared + launch->shared, GUARD, GUARD_SIZE);
	for (int i = 0; i < threads(); i++) {
		lanes[i].x = i % (int)launch->block[0];
		lanes[i].y = i / (int)launch->block[0] % (int)launch->block[1];
		start_fibre(lanes[i].fibre, i, lane_main);
	}
}

void check_guard() {
	for (size_t i = 0; i < GUARD_SIZE; i++)
		if (shared[launch->shared + i] != GUARD)
			return fail(CUDA_ERROR_ILLEGAL_ADDRESS, "byte %zu of %zu of the shared memory was written", launch->shared + i,
			            launch->shared);
}

void run_block() {
	start_block();
	int warps = (threads() + WARP - 1) / WARP;
	do {
		Order order(warps);
		for (int i = 0; i < warps && !failure; i++) run_warp(WARP * order.at[i]);
		if (!failure && !together(0, threads())) fail_parted("block", 0, threads());
	} while (!failure && lanes[0].stop == BARRIER);
	if (!failure) check_guard();
}

} // namespace

void vf_barrier() { stop_at(BARRIER); }

void vf_collect(const char *name, vf_collective *operation, void *mine) {
	running->mine = mine;
	stop_at({name, operation});
}

void vf_fail(int result, const char *format, ...) {
	char text[300];
	va_list list;
	va_start(list, format);
	vsnprintf(text, sizeof text, format, list);
	va_end(list);
	fail((CUresult)result, "thread (%d, %d): %s", running->x, running->y, text);
	for (;;) switch_fibre(running->fibre, scheduler);
}

const vf_range *vf_find(uint64_t address, size_t size, int write) {
	const char *does = write ? "writes" : "reads";
	if (address % size) vf_fail(CUDA_ERROR_MISALIGNED_ADDRESS, "%s %zu bytes at %#llx", does, size, (unsigned long long)address);
	const Memory *m = find_memory(address, size);
	if (!m || (m->kind == Memory::DEVICE && m->context != launch->context))
		vf_fail(CUDA_ERROR_ILLEGAL_ADDRESS, "%s %zu bytes at %#llx, %s", does, size, (unsigned long long)address,
		        describe_address(address));
	vf_here.near[write] = {m->begin, m->size, m->host};
	return &vf_here.near[write];
}

Context *running_context() { return launch->context; }

CUresult run_grid(const Launch &l) {
	launch = &l;
	failure = CUDA_SUCCESS;
	vf_here = {};
	vf_here.shared = shared;
	vf_here.shared_size = l.shared;
	for (block_z = 0; block_z < l.grid[2]; block_z++)
		for (unsigned y = 0; y < l.grid[1]; y++)
			for (unsigned x = 0; x < l.grid[0] && !failure; x++) {
				vf_here.block_x = (int)x;
				vf_here.block_y = (int)y;
				run_block();
			}
	return failure;
}
