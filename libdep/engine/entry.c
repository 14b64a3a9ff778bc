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
			 "	.quad thread_attached - boot\n"
			 "	.quad attach_ready - boot\n"
			 "	.quad attach_failed - boot\n"
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
static u8 *run_natively(void)
{
	rlimit_exec_begin(1);
	__atomic_add_fetch(&session()->lost_threads, 1, __ATOMIC_RELAXED);
	return NULL;
}

/*
 * Initialise the engine.  Runs on the boot stack, before the gs base is set.
 *
 * Return: the code cache address to enter; NULL: run the program natively, nothing was changed.
 * Does not return in a process that runs already: see struct adept_entries.
 */
u8 *boot_main(struct adept_boot *b)
{
	const struct dispatch_handlers handlers = {
		syscall_handle, signal_deliver_all, leave,
	};
	struct tls *t;

	if (b->layout.magic != ADEPT_SESSION_MAGIC || b->layout.version != ADEPT_SESSION_VERSION)
		return NULL;
	if (!rlimit_init(ARENAS_MAX) || !heap_init(b->heap, b->heap_size) || !ring_init() ||
	    !attach_fits(b->nattached))
		return run_natively();
	if (boot.domain)
		isolate_image();
	track_init();
	arena_init();
	landing_init();
	dispatch_init(&handlers);
	if (b->nattached)
		attach_prepare((struct adept_attached *)b->attached, b->nattached);
	t = thread_first();
	set_gs_base(t);
	sigaction_init(t);
	t->sync_blocked = signal_mask() & SYNC_SIGNALS;
	signal_thread_init(t);
	ring_thread_start(t, t->tid, 0, 0);
	ring_record_context(t, b->rip);
	return dispatch_to(t, b->rip, KNOWN_ALL);
}
