// The parts of a module's PTX text that the driver uses.
#pragma once
#include <stddef.h>

#include <string>
#include <vector>

struct Entry {
	std::string name;
	std::vector<size_t> params; // sizes in bytes
	unsigned threads = 1024;    // maximum per block
};

struct Ptx {
	int version = 0;       // 60 is 6.0; 0 if the text is not PTX
	int compute = 0;       // 61 for sm_61
	bool specific = false; // as sm_90a: runs on that capability only
	std::vector<Entry> entries;
};

// Returns whether text is valid PTX. In kernel bodies it checks only the braces.
bool parse_ptx(const char *text, Ptx &ptx);
