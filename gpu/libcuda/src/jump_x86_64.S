/* Each function jumps through its table entry, with all arguments in place. */
	.text
#define SYMBOL(name) \
	.globl name; .hidden name; .type name, @function; name: \
	movl $8 * __COUNTER__, %r11d; leaq vf_cuda_table(%rip), %r10; jmp *(%r10, %r11); \
	.size name, . - name;
#include "symbols.h"

	.hidden vf_cuda_first
	.globl vf_cuda_first
	.type vf_cuda_first, @function
vf_cuda_first:
	pushq %rdi
	pushq %rsi
	pushq %rdx
	pushq %rcx
	pushq %r8
	pushq %r9
	pushq %r11 /* the table offset */
	subq $128, %rsp
	movups %xmm0, (%rsp)
	movups %xmm1, 16(%rsp)
	movups %xmm2, 32(%rsp)
	movups %xmm3, 48(%rsp)
	movups %xmm4, 64(%rsp)
	movups %xmm5, 80(%rsp)
	movups %xmm6, 96(%rsp)
	movups %xmm7, 112(%rsp)
	call vf_cuda_load
	movups (%rsp), %xmm0
	movups 16(%rsp), %xmm1
	movups 32(%rsp), %xmm2
	movups 48(%rsp), %xmm3
	movups 64(%rsp), %xmm4
	movups 80(%rsp), %xmm5
	movups 96(%rsp), %xmm6
	movups 112(%rsp), %xmm7
	addq $128, %rsp
	popq %r11
	popq %r9
	popq %r8
	popq %rcx
	popq %rdx
	popq %rsi
	popq %rdi
	leaq vf_cuda_table(%rip), %r10
	jmp *(%r10, %r11)
	.size vf_cuda_first, . - vf_cuda_first

	.section .note.GNU-stack, "", @progbits
