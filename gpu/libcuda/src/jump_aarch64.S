/* Each function jumps through its table entry, with all arguments in place. */
	.text
#define SYMBOL(name) \
	.globl name; .hidden name; .type name, %function; .balign 4; name: \
	mov x17, 8 * __COUNTER__; adrp x16, vf_cuda_table; add x16, x16, :lo12:vf_cuda_table; \
	ldr x16, [x16, x17]; br x16; \
	.size name, . - name;
#include "symbols.h"

	.hidden vf_cuda_first
	.globl vf_cuda_first
	.type vf_cuda_first, %function
vf_cuda_first:
	sub sp, sp, 224
	stp x0, x1, [sp]
	stp x2, x3, [sp, 16]
	stp x4, x5, [sp, 32]
	stp x6, x7, [sp, 48]
	stp x17, x30, [sp, 64] /* the table offset and the return address */
	stp q0, q1, [sp, 96]
	stp q2, q3, [sp, 128]
	stp q4, q5, [sp, 160]
	stp q6, q7, [sp, 192]
	bl vf_cuda_load
	ldp q6, q7, [sp, 192]
	ldp q4, q5, [sp, 160]
	ldp q2, q3, [sp, 128]
	ldp q0, q1, [sp, 96]
	ldp x17, x30, [sp, 64]
	ldp x6, x7, [sp, 48]
	ldp x4, x5, [sp, 32]
	ldp x2, x3, [sp, 16]
	ldp x0, x1, [sp]
	add sp, sp, 224
	adrp x16, vf_cuda_table
	add x16, x16, :lo12:vf_cuda_table
	ldr x16, [x16, x17]
	br x16
	.size vf_cuda_first, . - vf_cuda_first

	.section .note.GNU-stack, "", %progbits
