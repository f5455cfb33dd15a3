// Fibres: what lets the threads of a block take turns in one thread of the CPU. A switch is a few nanoseconds on x86-64;
// other machines go through ucontext.
#pragma once

#if defined(__x86_64__) && !defined(VF_UCONTEXT)
struct Fibre {
	void *stack_pointer;
};
#else
#include <ucontext.h>
struct Fibre {
	ucontext_t context;
};
#endif

// Makes a fibre that starts in main, which never returns, on a stack that is its own until the program ends. Starting a
// fibre again, wherever it was left, costs next to nothing.
void start_fibre(Fibre &fibre, int number, void (*main)());
// Leaves one fibre for another, until something switches back.
void switch_fibre(Fibre &from, Fibre &to);
