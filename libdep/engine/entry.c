// SPDX-License-Identifier: LGPL-2.1-or-later
/* Start of the engine: initialise it and enter the program's first fragment. */
#include "libdep/engine/base/runtime.h"
#include "libdep/engine/translate/code_map.h"
#include "libdep/engine/base/rlimit.h"
#include "libdep/engine/os/attach.h"
#include "libdep/engine/os/leave.h"
#include "libdep/engine/os/sigframe.h"
#include "libdep/engine/os/sigaction.h"
#include "libdep/engine/os/signal.h"
#include "libdep/engine/os/syscall.h"
#include "libdep/engine/os/thread.h"
#include "libdep/engine/os/tsc.h"
#include "libdep/engine/translate/mapping_table.h"
#include "libdep/engine/record/isolate.h"
#include "libdep/engine/record/record.h"
#include "libdep/engine/translate/translate.h"
#include "libdep/engine/translate/dispatch.h"

/* Beginning of the engine image: the boot parameters, then struct adept_entries. */
__attribute__((used)) static void image_head(void)
{
	__asm__ volatile(".pushsection .boot, \"aw\"\n"
			 "	.globl boot\n"
			 "boot:	.zero %c0\n"
			 "	.quad image_start - boot\n"
			 "	.quad attach_build - boot\n"
			 "	.quad attach_limits - boot\n"
			 "	.quad attach_commit - boot\n"
			 "	.quad attach_reported - boot\n"
			 "	.quad thread_attached - boot\n"
			 "	.quad app_syscall_checked - boot\n"
			 "	.quad app_syscall_done - boot\n"
			 "	.quad app_syscall_abort - boot\n"
			 "	.quad leave_pause_done - boot\n"
			 "	.popsection"
			 : : "i"(sizeof(struct adept_boot)));
}

u8 boot_stack[16384] __attribute__((aligned(16)));
__asm__(".globl boot_stack_top\n	.set boot_stack_top, boot_stack + 16384");

/* Run the program natively because there is no memory for the engine; count its thread as lost. */
static u8 *run_natively(u32 tsc_forbidden)
{
	tsc_give_back(tsc_forbidden);
	rlimit_exec_begin(1);
	__atomic_add_fetch(&session()->lost_threads, 1, __ATOMIC_RELAXED);
	return NULL;
}

static int is_known(const struct adept_boot *b)
{
	return b->layout.magic == ADEPT_SESSION_MAGIC && b->layout.version == ADEPT_SESSION_VERSION;
}

static void init_translator(void)
{
	const struct dispatch_handlers handlers = {
		syscall_handle, signal_deliver_all, leave,
	};

	arena_init();
	landing_init();
	dispatch_init(&handlers);
}

static int has_begun;	/* 1: all is initialised, and the process was paused */

/* See struct adept_entries.  Return: 0; 1: the engine cannot run, and nothing was changed. */
u64 boot_build(struct adept_boot *b)
{
	/* This thread has what the program's thread has that created it. */
	tsc_permit();
	has_begun = leave_has_paused();
	if (has_begun)
		attach_forget();
	else if (!is_known(b) || !heap_init(b->heap, b->heap_size) || !ring_init())
		return 1;
	if (!attach_fits(b->nattached))
		return 1;
	if (!has_begun) {
		record_go_on_after(b->described);
		init_translator();
	}
	attach_make_room((struct adept_attached *)b->attached, b->nattached);
	return 0;
}

/* See struct adept_entries.  Return: 0; 1: the limits leave no room, and are as before. */
u64 boot_limits(struct adept_boot *b)
{
	b->limited = 1;
	if (rlimit_init(ARENAS_MAX) && heap_limits_known())
		return 0;
	rlimit_exec_begin(1);
	return 1;
}

/* The injector has died.  @status: result of boot_build() or boot_limits() */
void boot_abandoned(u64 status)
{
	if (boot.limited && !status && !has_begun)
		rlimit_exec_begin(1);
}

/* See struct adept_entries. */
void boot_commit(struct adept_boot *b)
{
	if (!has_begun && !b->limited && (!rlimit_init(ARENAS_MAX) || !heap_limits_known()))
		fatal("the memory limits have changed during the attach");
	track_init((char *)b->maps);
	mem_give_to_children();
	attach_all((struct adept_attached *)b->attached, b->nattached);
	if (has_begun)
		leave_resume();
	if (b->stub)
		sys2(__NR_munmap, b->stub, ADEPT_PAGE);
}

/*
 * Initialise the engine.  Runs on the boot stack, before the gs base is set.
 *
 * Return: the code cache address to enter; NULL: run the program natively, nothing was changed.
 */
u8 *boot_main(struct adept_boot *b)
{
	u32 forbidden;
	struct tls *t;

	if (!is_known(b))
		return NULL;
	forbidden = tsc_permit();
	if (!rlimit_init(ARENAS_MAX) || !heap_init(b->heap, b->heap_size) || !ring_init())
		return run_natively(forbidden);
	if (boot.domain)
		isolate_image();
	track_init((char *)b->low);
	init_translator();
	t = thread_first();
	t->tsc_forbidden = forbidden;
	set_gs_base(t);
	sigaction_init(t);
	t->sync_blocked = signal_mask() & SYNC_SIGNALS;
	signal_thread_init(t);
	ring_thread_start(t, t->tid, 0, 0);
	ring_record_context(t, b->rip);
	return dispatch_to(t, b->rip, KNOWN_ALL);
}
