/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions that no compiler writes: without a size, without unwind tables, within another one,
 * with several names.  Never run; test_symbols knows that .text is at 0x401000, and where each
 * begins.
 */
.macro body n
	.fill \n, 1, 0x90
.endm

	.text
/* 0x401000: no size and no type, followed by another. */
	.globl plain
plain:
	body 16
/* 0x401010: no size; ends where .eh_frame has it. */
	.globl unsized
unsized:
	.cfi_startproc
	body 8
local_label:				/* is no function */
	body 8
	.cfi_endproc
	body 16				/* 0x401020: nothing says what this is */
/* 0x401030: another function within it. */
	.globl outer
	.type outer, @function
outer:
	.cfi_startproc
	body 8
	.globl inner
	.type inner, @function
inner:
	body 4
	.size inner, . - inner
	body 4
	.size outer, . - outer
	.cfi_endproc
/* 0x401040: three names. */
	.type aa, @function
	.globl long_alias
	.type long_alias, @function
	.globl alias
	.type alias, @function
	.weak also
	.type also, @function
aa:
also:
long_alias:
alias:
	body 16
	.size aa, 16
	.size also, 16
	.size long_alias, 16
	.size alias, 16
/* 0x401050: the symbol is shorter than the range of .eh_frame. */
	.globl short_one
	.type short_one, @function
short_one:
	.cfi_startproc
	body 8
	.size short_one, . - short_one
	body 8
	.cfi_endproc
/* 0x401060: only .eh_frame. */
	.cfi_startproc
	body 16
	.cfi_endproc
/* 0x401070: the return from a signal handler; .eh_frame begins one byte early. */
	body 15
	.cfi_startproc
	.cfi_signal_frame
	body 1
	.globl restore
	.type restore, @function
restore:
	body 16
	.size restore, . - restore
	.cfi_endproc
/* 0x401090: overlap. */
	.globl left
	.type left, @function
left:
	body 8
	.globl right
	.type right, @function
right:
	body 8
	.size left, . - left
	body 8
	.size right, . - right
	body 8
/* 0x4010b0: parts. */
	.type "part.part.3", @function
"part.part.3":
	body 8
	.size "part.part.3", 8
	.type "part.part.3.cold", @function
"part.part.3.cold":
	body 8
	.size "part.part.3.cold", 8
	.globl part
	.type part, @function
part:
	body 16
	.size part, 16
/* 0x4010d0: a part of nothing, and names that refer to each other. */
	.type "nobody.cold", @function
"nobody.cold":
	body 8
	.size "nobody.cold", 8
.macro turning name, other
	.globl "\other\().cold"
	.type "\other\().cold", @function
	.weak "\name"
	.type "\name", @function
"\name":
"\other\().cold":
	body 4
	.size "\other\().cold", 4
.endm
	turning yin, yang
	turning yang, yin
	.globl _start
	.type _start, @function
_start:
	body 15
	ret
	.size _start, . - _start
	.globl end_of_code
end_of_code:

	.section .more, "ax", @progbits
	.globl in_more
in_more:
	body 16

	.section .note.GNU-stack, "", @progbits
