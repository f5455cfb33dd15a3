// Options in VIDFILTER_TESTDRIVER; testdriver.go lists them.
#pragma once
#include <stddef.h>
#include <stdint.h>

// The n-th use of a function fails, or with "n+" all uses from the n-th on.
struct Fault {
	long at, seen;
	bool onwards;
	// Counts a use and returns whether it fails.
	bool hits() {
		seen++;
		return at && (seen == at || (onwards && seen > at));
	}
};

struct Config {
	long devices = 2, version = 12040, init = 0, busy = 0, unregistered = 0, order = 0, ahead = 0, leaks = 0;
	int compute[8] = {90, 90, 90, 90, 90, 90, 90, 90}; // of each device
	size_t memory = (size_t)2 << 30;                   // of each device
	int64_t slow = 0;                                  // nanoseconds per kernel
	Fault alloc = {}, hostalloc = {}, launch = {}, lost = {}, ecc = {}, hang = {}, call = {};
	const char *log = nullptr;
};

// Reads the environment at the first call.
Config &config();
