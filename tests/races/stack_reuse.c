// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Two threads use the same stack in succession, without order; the racy one writes to it through an
 * address of the first one's.
 * tsan: right only, because for it the beginning of a thread writes to its whole stack
 */
#include "races.h"

static void *thread(void *arg)
{
	int local;

	local = 1; /* RACE: local */
	USE(&local);
	tell(gettid());
	await(1);
	tell((uintptr_t)&local);
	USE(local); /* RACE: read */
	await(2);
	return arg;
}

int main(void)
{
	uint64_t address;
	pid_t tid;

	pthread_detach(start(thread));
	tid = hear(NOTHING);
	tell(1);
	address = hear(1);
	tell(2);
	await_end(tid);

	pthread_detach(start(thread));
	tid = hear(2);
	RACY_ONLY(*(int *)address = 5); /* RACE: local, read */
	tell(1);
	CHECK(hear(1) == address);
	tell(2);
	await_end(tid);
	return 0;
}
