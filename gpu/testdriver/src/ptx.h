// What the driver reads of a module: PTX, as text.
#pragma once
#include <stddef.h>

#include <string>
#include <vector>

struct Entry {
	std::string name;
	std::vector<size_t> params; // the size of each
	unsigned threads = 1024;    // a block at most
};

struct Ptx {
	int version = 0;       // 60 is 6.0; 0 for what is no PTX at all
	int compute = 0;       // 61 for sm_61
	bool specific = false; // sm_90a: for that capability only
	std::vector<Entry> entries;
};

// Returns whether text is good PTX. Of the kernels' bodies it looks at the braces only.
bool parse_ptx(const char *text, Ptx &ptx);
