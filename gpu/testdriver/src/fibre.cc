#include "fibre.h"

#include <stdint.h>
#include <sys/mman.h>

#include "report.h"

namespace {

constexpr size_t page = 4096, stack_size = 64 * page;

// The end of a fibre's stack. Below each stack is a guard page. The ends differ in their place in
// a page, since lines of the same place share a set of the processor's cache.
uint8_t *stack_end(int number) {
	static uint8_t *stacks[1024];
	uint8_t *&stack = stacks[number];
	if (!stack) {
		void *p = mmap(nullptr, stack_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (p == MAP_FAILED || mprotect(p, page, PROT_NONE)) die("no memory for the stack of a fibre: %m");
		stack = (uint8_t *)p;
	}
	return stack + stack_size - number % 16 * 256;
}

} // namespace

#if defined(__x86_64__) && !defined(VF_UCONTEXT)

// Saves and restores the callee-saved registers and the stack pointer. It ends in a jump, since the
// processor predicts a wrong target for ret after a change of stacks.
asm(R"(
	.text
	.type vf_switch, @function
vf_switch:
	push %rbp
	push %rbx
	push %r12
	push %r13
	push %r14
	push %r15
	mov %rsp, (%rdi)
	mov %rsi, %rsp
	pop %r15
	pop %r14
	pop %r13
	pop %r12
	pop %rbx
	pop %rbp
	pop %rcx
	jmp *%rcx
	.size vf_switch, . - vf_switch
)");
extern "C" void vf_switch(void **from, void *to);

void start_fibre(Fibre &fibre, int number, void (*main)()) {
	void **top = (void **)stack_end(number);
	*--top = nullptr; // main's return address; also aligns the stack for the calling convention
	*--top = (void *)main;
	for (int i = 0; i < 6; i++) *--top = nullptr;
	fibre.stack_pointer = top;
}

void switch_fibre(Fibre &from, Fibre &to) { vf_switch(&from.stack_pointer, to.stack_pointer); }

#else

void start_fibre(Fibre &fibre, int number, void (*main)()) {
	getcontext(&fibre.context);
	fibre.context.uc_stack.ss_sp = stack_end(number) - stack_size + page;
	fibre.context.uc_stack.ss_size = stack_size - page;
	makecontext(&fibre.context, main, 0);
}

void switch_fibre(Fibre &from, Fibre &to) { swapcontext(&from.context, &to.context); }

#endif
