// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A recorded program that finds the session file in its memory and writes nonsense to it:
 * corrupt_ring HOW.  Prints "none" if it is not recorded.  Without HOW it leaves all as it is.
 * Suite: daemon
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../libdep/abi/session_file.h"
#include "session_map.h"

static struct adept_session *find(void)
{
	unsigned long start;
	char line[4352];
	FILE *f = fopen("/proc/self/maps", "r");

	while (f && fgets(line, sizeof(line), f))
		if (is_session_map(line) && sscanf(line, "%lx-", &start) == 1)
			return (struct adept_session *)start;
	return NULL;
}

static struct adept_thread *thread_of(struct adept_session *s)
{
	struct adept_thread *t = (struct adept_thread *)((char *)s + s->thread_off);

	while (t->state != ADEPT_SLOT_LIVE || t->tid != (u32)getpid())
		t++;
	return t;
}

static void work(void)
{
	volatile unsigned long sum = 0;
	unsigned long i;

	for (i = 0; i < 20000000; i++)
		sum += i;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	struct adept_session *s;
	struct adept_thread *t;
	struct adept_proc *p;
	u32 i;

	if (argc < 2) {
		puts("nothing to do");
		return 0;
	}
	s = find();
	if (!s) {
		puts("none");
		return 1;
	}
	t = thread_of(s);
	p = (struct adept_proc *)((char *)s + s->proc_off);
	if (!strcmp(how, "head")) {
		t->head += 1000;
	} else if (!strcmp(how, "tail")) {
		t->tail -= 77;
	} else if (!strcmp(how, "page")) {
		memset(s, 0xff, offsetof(struct adept_session, wakeup));
	} else if (!strcmp(how, "table")) {
		/* Every slot but our own and our process's. */
		for (i = 0; i < s->nthreads; i++)
			if ((struct adept_thread *)((char *)s + s->thread_off) + i != t)
				memset((struct adept_thread *)((char *)s + s->thread_off) + i,
				       0x41 + i % 3, 64);
	} else if (!strcmp(how, "desc")) {
		p->desc_head += 1 << 30;
	} else if (!strcmp(how, "stop")) {
		raise(SIGSTOP);
	} else {
		return 2;
	}
	work();
	puts("done");
	return 0;
}
