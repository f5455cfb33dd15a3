// Device memory and pinned host memory, which is the driver's own or registered.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "state.h"

// Device memory has addresses from here on.
constexpr uint64_t FIRST_ADDRESS = 1ull << 54;

struct Memory {
	enum Kind { DEVICE, PINNED, REGISTERED } kind;
	uint64_t begin; // address for programs
	size_t size;
	uint8_t *host; // actual address
	Context *context;
};

// The live memory that contains size bytes at an address; null if it does not contain all of them.
Memory *find_memory(uint64_t address, size_t size);
// Describes an address for messages: "byte 1536 of the 1024 at 0x...".
const char *describe_address(uint64_t address);

// Fills memory with a byte that stands out in results.
void poison(uint8_t *memory, size_t size);

void free_memory(Context &context);
