// SPDX-License-Identifier: LGPL-2.1-or-later
/* The stack of a thread that enters the engine at an attach: ADEPT_EV_STACK. */
#include "record.h"
#include "stack.h"

#define STACK_MAX	16384u	/* bytes of a stack that are recorded */

static int is_present(u64 address)
{
	u8 state = 0;

	return !sys3(__NR_mincore, address & ~(u64)(ADEPT_PAGE - 1), ADEPT_PAGE, (u64)&state) &&
	       state & 1;
}

static u64 lower(u64 a, u64 b)
{
	return a < b ? a : b;
}

/* The end of what can be read from @from on, at most @end. */
static u64 readable_up_to(u64 from, u64 end)
{
	while (from < end && is_present(from))
		from = (from | (ADEPT_PAGE - 1)) + 1;
	return lower(from, end);
}

void stack_record(struct tls *t, u64 end)
{
	struct adept_ev_stack ev = { .address = t->regs[X86_RSP] };

	if (end <= ev.address)
		return;
	end = readable_up_to(ev.address, lower(end, ev.address + STACK_MAX));
	while (ev.address < end) {
		u32 want = (u32)lower(end - ev.address, ADEPT_STACK_BYTES);

		ev.size = (u32)rt_copy_in(ev.bytes, (void *)ev.address, want);
		memset(ev.bytes + ev.size, 0, ADEPT_STACK_BYTES - ev.size);
		if (ev.size)
			ring_event(t, ADEPT_EV_STACK, &ev, sizeof(ev));
		if (ev.size < want)
			return;
		ev.address += want;
	}
}
