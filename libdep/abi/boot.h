/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the injector and the engine of one process tell each other: the head of the engine's image,
 * the threads of a process that is attached to, and the state of those that leave the engine.
 */
#ifndef ADEPT_ABI_BOOT_H
#define ADEPT_ABI_BOOT_H

#include "session_file.h"

/**
 * struct adept_attached - a thread of a running process that the engine is put into
 *
 * The injector writes it when it has stopped all threads, except those in system calls that must
 * not be interrupted.  These run natively until they meet an int3 (struct adept_caught_pc) or
 * receive a signal.  Then the engine's signal handler writes the thread's state.  If the injector
 * dies, this holds for all threads.
 *
 * @regs:	application registers, hardware order
 * @mask:	the thread's signal mask
 * @call:	number of the system call that the injector's stop has interrupted; rax then has a
 *		restart code of the kernel.  -1: the thread was in no system call
 * @returned:	the system call from which it has just returned, with the result in rax; -1: none.
 *		If it was not stopped: the one in which it is
 * @tls:	written by the engine: value of rdi at adept_entries.thread
 * @stack_end:	end of the mapping that has its stack pointer; 0: not known
 * @tid:	its number in the process's pid namespace
 * @late:	1: it has not entered the engine yet
 */
struct adept_attached {
	u64 regs[16];
	u64 rip, rflags, fs_base, gs_base;
	u64 mask;
	s64 call, returned;
	u64 tls;
	u64 stack_end;
	u32 tid, late;
};

/**
 * struct adept_kept - what a tracer has changed in a stopped thread that is to leave the engine
 *
 * At ADEPT_GS_KEPT in the thread's tls.  The tracer writes it while the thread is stopped; the
 * thread applies it when it waits to leave, or when it goes on in the engine.
 *
 * @blocked:	1: the tracer has blocked all signals; @mask was the mask
 * @aborted:	1: the tracer has made system call @call, which had returned or was to return @code,
 *		look as if it had not begun
 */
struct adept_kept {
	u64 blocked, mask;
	u64 aborted;
	s64 call, code;
};

/**
 * struct adept_leaver - state with which a thread leaves the engine
 *
 * A thread that waits to leave has the address in rbx.
 *
 * @regs:	application registers, hardware order
 * @mask:	the thread's signal mask without @sync_blocked
 * @sync_blocked: signals of faults that the application blocks
 * @call:	number of an interrupted system call: rip is after its instruction, and rax has the
 *		kernel's restart code.  -1: none
 */
struct adept_leaver {
	u64 regs[16];
	u64 rip, rflags, gs_base;
	u64 mask, sync_blocked;
	s64 call;
};

/**
 * struct adept_entries - offsets in the engine image, directly after struct adept_boot
 * @start:	first instruction of the image
 * @build, @limits, @commit: for the injector's thread in a running process, in this order;
 *		rdi has the address of struct adept_boot.  @build initialises the engine while the
 *		program runs, @limits raises memory limits, and @commit takes over the signal
 *		actions and creates the state of all threads.  @limits is left out if there are no
 *		limits.
 * @reported:	the instruction after the syscall instruction by which that thread reports the end
 *		of @build and @limits, with rdi 0, or 1 if the engine cannot run.  The injector
 *		does not let that call happen.  After @commit the thread exits.
 * @thread:	where the injector makes each thread of a running process continue, after @commit
 * @call_first, @call_done, @call_abort: system calls of the program: the first instruction after
 *		the last check for signals; the one after the syscall instruction; where a thread
 *		continues whose call is to be made again later
 * @wait_done:	the instruction after the syscall instruction by which a thread waits to leave
 */
struct adept_entries {
	u64 start;
	u64 build, limits, commit, reported;
	u64 thread;
	u64 call_first, call_done, call_abort;
	u64 wait_done;
};

/**
 * struct adept_caught_pc - an instruction that the injector has replaced by int3
 *
 * A thread that is in a system call during the attach meets the int3 when the call returns.
 *
 * @byte:	first byte of the original instruction
 * @of_file:	before, the page was that of the mapped file, without a private copy
 */
struct adept_caught_pc {
	u64 pc;
	u32 byte, of_file;
};
#define ADEPT_CAUGHT_PCS 32u
#define ADEPT_MAPPINGS 40u

/**
 * struct adept_boot - parameters from the injector, at the start of the engine image
 *
 * At the image's entry rdi has the address of this structure.  rsp is the application's; the
 * engine must not use that stack.
 */
struct adept_boot {
	u64 session;		/* address of the session file's mapping */
	u64 image, image_size;
	/*
	 * Memory below 2 GiB for the branch tables, RW.  At first it contains text: lines of
	 * /proc/PID/maps from before the injection, for executable mappings, mappings of the first
	 * bytes of files, and the stack.  The rest is zero.
	 */
	u64 low, low_size;
	u64 heap, heap_size;	/* address space for the engine's data, PROT_NONE at first */
	u64 arena[2], arena_size[2];	/* RWX code cache near the libraries and near the program */
	u32 proc;		/* index of the process's slot; LIVE, in an attach from @commit */
	u32 cause;		/* enum adept_cause */
	u64 regs[16];		/* initial application registers, hardware order */
	u64 rip, rflags, fs_base, gs_base;
	u64 vdso, vdso_size;
	u64 fsgsbase;		/* 1: the kernel preserves what wrgsbase writes (HWCAP2_FSGSBASE) */
	u32 ns;			/* ADEPT_NS_* */
	u32 domain;		/* 1 + slot of the domain's founder; 0: in no domain */
	/*
	 * threads of the running process at the attach, at first an estimate; 0: no attach
	 */
	u32 nattached;
	u32 ptracer;		/* pid that children must permit to trace them (Yama), 0: none */
	u64 attached;		/* address of struct adept_attached[nattached] */
	u64 attached_size;	/* bytes mapped at @attached */
	u64 maps;		/* address of text as at @low, behind the table; 0: it is at @low */
	u64 stub;		/* a page that @commit unmaps; 0: none */
	/* where the injector's thread goes on after @build or @limits if the injector has died */
	u64 undo;
	u64 limited;		/* 1: @limits was called */
	u64 described;		/* bytes that the injector has written to the descriptor ring */
	u64 ncaught;		/* number of instructions in @caught */
	struct adept_caught_pc caught[ADEPT_CAUGHT_PCS];
	/* mappings of the engine but for the image, filled in when a detach ends the recording */
	u64 nmappings;
	struct adept_mapping {
		u64 start, size;
	} mapping[ADEPT_MAPPINGS];
	u64 unmapped;		/* 1: the last thread has unmapped these */
	/*
	 * Private copy of the session's first page.  All sizes and offsets are taken from here,
	 * because processes with fewer rights can write to the shared page.
	 */
	struct adept_session layout;
};

#endif
