// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sym_c [LIBRARY...]: prints where its code and data is, for tests/unit/symbols/test_symbols.c,
 * which knows the names and finds the lines by the MARKs.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "sym_print.h"

void _init(void);

#define noinline __attribute__((noinline))
#define inlined static inline __attribute__((always_inline))

struct node {
	int key;
	struct node *next;
};

struct queue {
	long size;
	struct node head[4];
	union {
		float as_float;
		int as_int;
		long as_long;
	} u;
	_Atomic int count;
	struct {
		short first, second;
	};
	unsigned int low : 3, high : 5;
	struct { const char *text; } inner;
};

struct queue queue;			/* MARK queue */
int table[3][5];
char letters[200];
_Atomic long ticks;
struct node *const last = &queue.head[3];
static int only_here = 7;

inlined int innermost(int n)	/* MARK start innermost */
{
	mark("innermost");		/* MARK innermost */
	no_jump();
	return n + 1;
}

inlined int middle(int n)	/* MARK start middle */
{
	return innermost(n + 1) * 2;	/* MARK middle */
}

noinline int outer(int n)	/* MARK start outer */
{
	return middle(n) + 3;		/* MARK outer */
}

static noinline int plain(int n)
{
	static int calls;

	calls += n;
	mark("plain");			/* MARK plain */
	no_jump();
	show("calls", &calls);
	return calls;
}

int main(int argc, char **argv)
{
	int i;

	/* A pipe is not flushed before what a library prints. */
	setvbuf(stdout, NULL, _IOLBF, 0);
	outer(argc);
	plain(only_here);
	show("queue", &queue);
	show("key", &queue.head[2].key);
	show("next", &queue.head[3].next);
	show("union", &queue.u);
	show("count", &queue.count);
	show("second", &queue.second);
	show("bits", (char *)&queue.second + 2);
	show("text", &queue.inner.text);
	show("table", &table[2][3]);
	show("letters", &letters[199]);
	show("ticks", &ticks);
	show("last", (void *)&last);
	show("init", (void *)_init);
	show("only_here", &only_here);
	maps();
#ifndef NO_LIBRARIES
	for (i = 1; i < argc; i++) {
		void *lib = dlopen(argv[i], RTLD_NOW);
		void (*call)(void) = lib ? (void (*)(void))dlsym(lib, "call") : NULL;

		if (!call) {
			fprintf(stderr, "%s\n", dlerror());
			return 1;
		}
		call();
		maps();
		dlclose(lib);
	}
#else
	(void)argv;
	(void)i;
#endif
	return 0;
}
