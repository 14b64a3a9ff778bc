// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Decoded instructions by pc.  Bytes in private read-only executable mappings do not change between
 * two system calls, so they are decoded at most once per system call; bytes in other mappings are
 * compared before each use.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oracle.h"

#define SLOTS	(1u << 16)

struct range {
	uint64_t start, end;
};

static struct insn *slots;
static uint32_t generation = 1;
static struct range *stable;
static unsigned int nstable, room;
static bool maps_known;

int code_init(void)
{
	slots = calloc(SLOTS, sizeof(*slots));
	return slots ? 0 : -ENOMEM;
}

/* A system call happened; @maps_changed: one that changes mappings. */
void code_flush(bool maps_changed)
{
	generation++;
	if (maps_changed)
		maps_known = false;
}

static void add_range(uint64_t start, uint64_t end)
{
	struct range *r;

	if (nstable == room) {
		r = realloc(stable, (room + 64) * sizeof(*r));
		if (!r)
			return;
		stable = r;
		room += 64;
	}
	stable[nstable].start = start;
	stable[nstable++].end = end;
}

static void read_maps(struct tracee *t)
{
	char path[64], line[512], perms[8], name[256];
	unsigned long start, end;
	FILE *f;
	int n;

	nstable = 0;
	maps_known = true;
	snprintf(path, sizeof(path), "/proc/%d/maps", t->pid);
	f = fopen(path, "re");
	if (!f)
		return;
	while (fgets(line, sizeof(line), f)) {
		name[0] = 0;
		n = sscanf(line, "%lx-%lx %7s %*s %*s %*s %255s", &start, &end, perms, name);
		if (n < 3)
			continue;
		if (!strcmp(perms, "r-xp"))
			add_range(start, end);
		if (!strcmp(name, "[vdso]")) {
			t->vdso_start = start;
			t->vdso_end = end;
		}
	}
	fclose(f);
}

static bool is_stable(struct tracee *t, uint64_t pc)
{
	unsigned int i;

	if (!maps_known)
		read_maps(t);
	for (i = 0; i < nstable; i++)
		if (pc >= stable[i].start && pc + MAX_BYTES <= stable[i].end)
			return true;
	return false;
}

static bool same_bytes(struct tracee *t, const struct insn *in)
{
	uint8_t now[MAX_BYTES];

	return mem_read(t, in->pc, now, in->len) == in->len && !memcmp(now, in->bytes, in->len);
}

/** code_get() - the current instruction at @pc */
struct insn *code_get(struct tracee *t, uint64_t pc)
{
	struct insn *in = &slots[(pc ^ pc >> 16) & (SLOTS - 1)];
	uint8_t bytes[MAX_BYTES];
	size_t n;

	if (in->pc == pc && in->generation == generation &&
	    (!in->verify || same_bytes(t, in)))
		return in;
	n = mem_read(t, pc, bytes, sizeof(bytes));
	in->pc = pc;
	in->generation = generation;
	in->verify = !is_stable(t, pc);
	if (n)
		decode_insn(in, bytes, n);
	else
		*in = (struct insn){ .pc = pc, .kind = KIND_UNKNOWN };
	return in;
}
