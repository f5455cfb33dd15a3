// Device memory has addresses outside this process, so that host and kernels reach it only through
// the driver. No address is ever reused, so stale ones are detected.
#include "memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>

#include "config.h"
#include "inside.h"
#include "stream.h"

namespace {

std::vector<Memory *> live; // by address

std::vector<Memory *>::iterator first_above(uint64_t address) {
	return std::upper_bound(live.begin(), live.end(), address, [](uint64_t a, const Memory *m) { return a < m->begin; });
}

constexpr uint64_t GAP = 1 << 20;
constexpr size_t GUARD_SIZE = 4096;
constexpr uint8_t POISON = 0xa5, GUARD = 0xc3;

// Addresses are multiples of 256, as on real devices, but not of 512.
uint64_t new_address(size_t size) {
	static uint64_t next = FIRST_ADDRESS + 256;
	uint64_t address = next;
	next += (size + GAP + 511) & ~511ull;
	return address;
}

Memory *add(Memory::Kind kind, uint64_t address, size_t size, uint8_t *host, Context &context) {
	auto *m = new Memory{kind, address, size, host, &context};
	live.insert(first_above(address), m);
	poison(host, size);
	return m;
}

Memory *find_start(uint64_t address, Memory::Kind kind) {
	for (Memory *m : live)
		if (m->begin == address && m->kind == kind) return m;
	return nullptr;
}

bool intact(const uint8_t *guard) {
	for (size_t i = 0; i < GUARD_SIZE; i++)
		if (guard[i] != GUARD) return false;
	return true;
}

void forget(Memory *m) {
	if (m->kind == Memory::DEVICE) {
		m->context->device->used -= m->size;
		free(m->host);
	} else if (m->kind == Memory::PINNED) {
		if (!intact(m->host - GUARD_SIZE)) die("the host wrote before pinned memory of %zu bytes", m->size);
		if (!intact(m->host + m->size)) die("the host wrote behind pinned memory of %zu bytes", m->size);
		free(m->host - GUARD_SIZE);
	}
	for (size_t i = 0; i < live.size(); i++)
		if (live[i] == m) live.erase(live.begin() + (long)i);
	delete m;
}

CUresult forget_host(const char *function, void *address, Memory::Kind kind) {
	return in_context(function, [&](Context &context) {
		Memory *m = find_start((uint64_t)address, kind);
		if (!m) return CUDA_ERROR_INVALID_VALUE;
		note(" bytes=%zu", m->size);
		CUresult result = run_all(context);
		forget(m);
		return result;
	});
}

} // namespace

void poison(uint8_t *memory, size_t size) { memset(memory, POISON, size); }

Memory *find_memory(uint64_t address, size_t size) {
	auto above = first_above(address);
	if (above == live.begin()) return nullptr;
	Memory *m = above[-1];
	return address - m->begin <= m->size && m->size - (address - m->begin) >= size ? m : nullptr;
}

int vf_has_memory(CUdeviceptr address) {
	std::lock_guard<std::mutex> guard(driver_lock);
	return find_memory(address, 1) != nullptr;
}

const char *describe_address(uint64_t address) {
	static char text[100];
	if (!address) return "the null pointer";
	for (Memory *m : live)
		if (address + GAP / 2 >= m->begin && address < m->begin + m->size + GAP / 2) {
			snprintf(text, sizeof text, "byte %lld of the %zu at %#llx", (long long)(address - m->begin), m->size,
			         (unsigned long long)m->begin);
			return text;
		}
	return "where no memory is";
}

void free_memory(Context &context) {
	for (size_t i = live.size(); i-- > 0;) {
		Memory *m = live[i];
		if (m->context != &context) continue;
		report_leak(context, "leak: %zu bytes of %s memory", m->size, m->kind == Memory::DEVICE ? "device" : "pinned");
		forget(m);
	}
}

CUresult cuMemAlloc(CUdeviceptr *address, size_t size) {
	return in_context("cuMemAlloc", [&](Context &context) {
		note(" bytes=%zu", size);
		if (!size) return CUDA_ERROR_INVALID_VALUE;
		bool fails = config().alloc.hits();
		if (fails || size > config().memory - context.device->used) return CUDA_ERROR_OUT_OF_MEMORY;
		auto *host = (uint8_t *)aligned_alloc(512, (size + 511) & ~(size_t)511);
		if (!host) return CUDA_ERROR_OUT_OF_MEMORY;
		context.device->used += size;
		*address = add(Memory::DEVICE, new_address(size), size, host, context)->begin;
		return CUDA_SUCCESS;
	});
}

CUresult cuMemFree(CUdeviceptr address) {
	return in_context("cuMemFree", [&](Context &context) {
		Memory *m = find_start(address, Memory::DEVICE);
		if (!m || m->context != &context) return CUDA_ERROR_INVALID_VALUE;
		note(" bytes=%zu", m->size);
		CUresult result = run_all(context); // as real drivers do
		forget(m);
		return result;
	});
}

CUresult cuMemHostAlloc(void **address, size_t size, unsigned int) {
	return in_context("cuMemHostAlloc", [&](Context &context) {
		note(" bytes=%zu", size);
		if (!size) return CUDA_ERROR_INVALID_VALUE;
		bool fails = config().hostalloc.hits();
		size_t whole = (size + 2 * GUARD_SIZE + 4095) & ~(size_t)4095;
		auto *block = fails ? nullptr : (uint8_t *)aligned_alloc(4096, whole);
		if (!block) return CUDA_ERROR_OUT_OF_MEMORY;
		uint8_t *host = block + GUARD_SIZE;
		memset(block, GUARD, GUARD_SIZE);
		memset(host + size, GUARD, GUARD_SIZE);
		*address = add(Memory::PINNED, (uint64_t)host, size, host, context)->host;
		return CUDA_SUCCESS;
	});
}

CUresult cuMemHostRegister(void *address, size_t size, unsigned int) {
	return in_context("cuMemHostRegister", [&](Context &context) {
		note(" bytes=%zu", size);
		if (!address || !size) return CUDA_ERROR_INVALID_VALUE;
		if (config().unregistered) return CUDA_ERROR_NOT_SUPPORTED;
		if (config().hostalloc.hits()) return CUDA_ERROR_OUT_OF_MEMORY;
		add(Memory::REGISTERED, (uint64_t)address, size, (uint8_t *)address, context);
		return CUDA_SUCCESS;
	});
}

CUresult cuMemHostUnregister(void *address) { return forget_host("cuMemHostUnregister", address, Memory::REGISTERED); }

CUresult cuMemFreeHost(void *address) { return forget_host("cuMemFreeHost", address, Memory::PINNED); }

CUresult cuMemGetInfo(size_t *free, size_t *total) {
	return in_context("cuMemGetInfo", [&](Context &context) {
		*total = config().memory;
		*free = *total - context.device->used;
		return CUDA_SUCCESS;
	});
}
