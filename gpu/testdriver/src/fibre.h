// Fibres, so that the threads of a block can take turns in one CPU thread. A switch takes a few
// nanoseconds on x86-64. Other machines use ucontext.
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

// Makes a fibre that starts in main, which must not return, on the stack of that number, which is
// kept until the program ends. Restarting a fibre at any point is cheap.
void start_fibre(Fibre &fibre, int number, void (*main)());
// Switches from one fibre to another; returns when something switches back.
void switch_fibre(Fibre &from, Fibre &to);
