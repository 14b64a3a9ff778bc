// SPDX-License-Identifier: GPL-2.0-or-later
/* Profiles with a name, see fake_profile.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_profile.h"

/* A name that stays valid: the profiles are few. */
static const char *name_of(const char *format, unsigned int i)
{
	static char names[4000][40];

	snprintf(names[i % 4000], sizeof(names[0]), format, i);
	return names[i % 4000];
}

#define SLICE	333000000ull	/* nanoseconds */

/*
 * 10^10 instructions in 20,000 contexts of 4 threads over 10 s.  Most contexts are small, some are
 * large: context i has about 1/i of the instructions.
 */
static void big(void)
{
	const char *const modules[] = { "program", "libc.so.6", "libstdc++.so.6", "ld.so.2" };
	static uint32_t thread_of[20000];
	unsigned int i, n = 20000, seed = 1, slice;
	uint32_t parent, context, thread;
	uint64_t insns;

	fake_begin(1, 4);
	for (i = 0; i < 1500; i++)
		fake_function(name_of(i % 7 ? "function_%u" : "std::vector<int>::operator[](%u)",
				      i), modules[i % 4]);
	for (i = 1; i <= 4; i++)
		thread_of[fake_context(0, i - 1, i, 1, 1000)] = i;
	for (; i < n; i++) {
		seed = seed * 1103515245 + 12345;
		parent = 1 + (seed >> 8) % (i < 400 ? i - 1 : 400);
		thread = thread_of[i] = thread_of[parent];
		insns = 1080000000 / (i - 4);
		context = fake_context(parent, (i * 7919) % 1500, thread, 1 + insns / 100, insns);
		for (slice = 0; slice < (insns > 200000 ? 20 : 1); slice++)
			fake_time((i % 10 + slice) * SLICE, (i % 10 + slice + 1) * SLICE, thread,
				  context, insns / (insns > 200000 ? 20 : 1));
	}
}

/* Names that would be executed if they were not escaped. */
static void hostile(void)
{
	static const char *const names[] = {
		"</script><img src=x onerror=\"document.title='bad'\">",
		"<!--<script>document.title='bad'</script>", "\"],\"x\":[\"", "'\\u003c\\\"",
		"${document.title='bad'}", "javascript:document.title='bad'", "&lt;b&gt;&amp;",
		"\xe2\x80\xae" "gnp.exe\xe2\x80\xa8next", "", "__proto__", "constructor",
		"a\nb\tc\x01\x7f", "\xff\xfe not UTF-8",
	};
	char *file = getenv("FAKE_SOURCE");
	uint32_t at = 0;
	size_t i;

	fake_begin(2, 3);
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		fake_function(names[i], i % 2 ? "<i>lib</i>.so" : "</style>");
		at = fake_context(i % 5 ? at : 0, i, 1 + i % 3, 10 + i, 1000 * (i + 1));
		fake_time(i * 1000, i * 1000 + 2500, 1 + i % 3, at, 1000 * (i + 1));
		fake_insn(i, 0x1000 + 16 * i, 1000 * (i + 1), file ? file : names[0], 1 + i);
	}
}

/* A recursion of 100,000 calls, all instructions in the deepest one. */
static void deep(void)
{
	uint32_t at = 0, f, i;

	fake_begin(1, 1);
	f = fake_function("recursive", "program");
	for (i = 0; i < 100000; i++)
		at = fake_context(at, f, 1, 1, i == 99999 ? 1000000 : 1);
	fake_time(0, 1000, 1, at, 1000000);
}

/* Nothing was executed. */
static void empty(void)
{
	fake_begin(1, 1);
}

bool fake_named(const char *name)
{
	static const struct {
		const char *name;
		void (*make)(void);
	} all[] = { { "big", big }, { "hostile", hostile }, { "deep", deep }, { "empty", empty } };
	size_t i;

	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		if (strcmp(all[i].name, name))
			continue;
		all[i].make();
		return true;
	}
	return false;
}
