// Memory of devices, and memory of the host that devices reach.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "state.h"

// Devices have the addresses from here on.
constexpr uint64_t FIRST_ADDRESS = 1ull << 54;

struct Memory {
	enum Kind { DEVICE, PINNED } kind;
	uint64_t begin; // address as programs see it
	size_t size;
	uint8_t *host; // where it lies
	Context *context;
};

// The live memory that size bytes at an address lie in; null where any of them does not.
Memory *find_memory(uint64_t address, size_t size);
// What lies at an address, for messages: "512 bytes behind the allocation of 1024 bytes at 0x...".
const char *describe_address(uint64_t address);

// Fills memory with bytes that nobody expects.
void poison(uint8_t *memory, size_t size);

void free_memory(Context &context);
