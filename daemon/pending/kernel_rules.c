// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Compile rules for the BPF program, which compares only the literal text at both ends of each
 * pattern.
 */
#include <string.h>

#include "kernel_rules.h"

#define SPECIAL "*?[]\\"

/* Copy @n bytes of literal text to the words @word, and set the same bytes of their masks. */
static void words(u64 *word, u64 *mask, const char *from, size_t n)
{
	memcpy(word, from, n);
	memset(mask, 0xff, n);
}

/* Find where the literal text at the end of a pattern begins. */
static const char *literal_end(const char *s)
{
	const char *end = s;

	for (; *s; s++) {
		if (!strchr(SPECIAL, *s))
			continue;
		if (*s == '\\' && s[1])
			s++;
		end = s + 1;
	}
	return end;
}

static void compile_pattern(struct exec_pattern *p, const char *text)
{
	const size_t room = sizeof(p->head);
	size_t len = strlen(text), head = strcspn(text, SPECIAL), tail, n;

	tail = len - (size_t)(literal_end(text) - text);
	p->min = (u32)(head == len ? len : head + tail);
	p->max = head == len ? (u32)len : ~0u;
	words(p->head, p->head_mask, text, head < room ? head : room);
	n = tail < room ? tail : room;
	memcpy((char *)p->tail + room - n, text + len - n, n);
	memset((char *)p->tail_mask + room - n, 0xff, n);
}

static void compile_comm(struct exec_rule *to, const char *comm)
{
	size_t len = strlen(comm), head = strcspn(comm, SPECIAL);

	/* A pattern without special characters: compare the terminating NUL as well. */
	if (head == len)
		head++;
	words(to->comm, to->comm_mask, comm, head < sizeof(to->comm) ? head : sizeof(to->comm));
}

void exec_rule_compile(struct exec_rule *to, const struct policy_rule *r)
{
	memset(to, 0, sizeof(*to));
	if (r->comm) {
		to->flags |= EXEC_RULE_COMM;
		compile_comm(to, r->comm);
	}
	if (r->path) {
		to->flags |= EXEC_RULE_PATH;
		compile_pattern(&to->path, r->path);
	}
	if (r->cgroup) {
		to->flags |= EXEC_RULE_CGROUP;
		compile_pattern(&to->cgroup, r->cgroup);
	}
	if (r->has_uid) {
		to->flags |= EXEC_RULE_UID;
		to->uid = r->uid;
	}
	if (r->terminal)
		to->flags |= EXEC_RULE_TERMINAL;
}
