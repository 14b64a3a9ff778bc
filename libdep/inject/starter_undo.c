// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * What the starter (starter.c) removes from the process if the injector dies.
 *
 * The list is behind the starter's code.  While a system call maps memory, its result is only in
 * the starter's rax: the list then has the size, and rax is an error code before the call.
 *
 *	injector			rax of the starter	list
 *	dep_undo_expect()		-1			pending = size
 *	dep_remote_call(mmap)		address, or error
 *	dep_undo_made()						pending = 0, address and size
 */
#include <errno.h>
#include <elf.h>
#include <stddef.h>
#include <string.h>
#include <sys/ptrace.h>

#include "internal.h"

#define VDSO_MAX	(64u << 10)
#define ALIGNMENT	64

static void write_list(const struct dep_undo *u, size_t from, size_t size)
{
	dep_memory_write(u->mem, u->at + from, (const char *)&u->list + from, size);
}

static void write_maps(const struct dep_undo *u)
{
	write_list(u, 0, offsetof(struct dep_undo_list, ncaught));
}

void dep_undo_expect(const struct dep_remote *r, u64 size)
{
	struct user_regs_struct regs = r->regs;

	if (!r->undo)
		return;
	regs.rax = -1ull;
	ptrace(PTRACE_SETREGS, r->pid, NULL, &regs);
	r->undo->list.pending = size;
	write_maps(r->undo);
}

void dep_undo_made(const struct dep_remote *r, s64 ret)
{
	struct dep_undo_list *l;

	if (!r->undo)
		return;
	l = &r->undo->list;
	if ((ret >= 0 || ret < -4095) && l->nmaps < DEP_UNDO_MAPS)
		l->map[l->nmaps++] = (struct adept_mapping){ (u64)ret, l->pending };
	l->pending = 0;
	write_maps(r->undo);
}

u64 dep_undo_add(struct dep_undo *u, const struct adept_mapping *map, u64 n)
{
	struct dep_undo_list *l = &u->list;
	u64 i;

	for (i = 0; i < n && l->nmaps < DEP_UNDO_MAPS; i++)
		l->map[l->nmaps++] = map[i];
	write_maps(u);
	return i;
}

void dep_undo_unmaps(const struct dep_remote *r, u64 start)
{
	struct dep_undo_list *l;
	u64 i = 0;

	if (!r->undo)
		return;
	l = &r->undo->list;
	while (i < l->nmaps && l->map[i].start != start)
		i++;
	if (i == l->nmaps)
		return;
	l->map[i] = l->map[--l->nmaps];
	write_maps(r->undo);
}

void dep_undo_catches(struct dep_undo *u, const struct adept_caught_pc *c)
{
	struct dep_undo_list *l = &u->list;

	if (l->ncaught == ADEPT_CAUGHT_PCS)
		return;
	l->caught[l->ncaught++] = *c;
	write_list(u, offsetof(struct dep_undo_list, ncaught),
		   sizeof(*l) - offsetof(struct dep_undo_list, ncaught));
}

/* Where the file ends that the vdso is; 0: it is none. */
static u64 end_of_elf(const unsigned char *vdso, u64 size)
{
	Elf64_Ehdr eh;
	Elf64_Phdr ph;
	u64 end, i;

	memcpy(&eh, vdso, sizeof(eh));
	if (memcmp(eh.e_ident, ELFMAG, SELFMAG) || eh.e_phentsize != sizeof(ph) ||
	    eh.e_shoff > size)
		return 0;
	end = eh.e_shoff + (u64)eh.e_shnum * eh.e_shentsize;
	for (i = 0; i < eh.e_phnum; i++) {
		if (eh.e_phoff > size || size - eh.e_phoff < (i + 1) * sizeof(ph))
			return 0;
		memcpy(&ph, vdso + eh.e_phoff + i * sizeof(ph), sizeof(ph));
		if (ph.p_offset > size || ph.p_filesz > size - ph.p_offset)
			return 0;
		if (ph.p_offset + ph.p_filesz > end)
			end = ph.p_offset + ph.p_filesz;
	}
	return end;
}

u64 dep_vdso_room(int mem, const struct dep_address_space *s, const void *begin, u64 nbegin,
		  u64 size)
{
	unsigned char buf[VDSO_MAX];
	u64 vdso_size = s->vdso_size, from, i;

	if (vdso_size < sizeof(Elf64_Ehdr) || vdso_size > sizeof(buf) ||
	    dep_memory_read(mem, s->vdso, buf, vdso_size))
		return 0;
	from = end_of_elf(buf, vdso_size);
	from = (from + ALIGNMENT - 1) & ~(u64)(ALIGNMENT - 1);
	if (!from || from > vdso_size || vdso_size - from < size)
		return 0;
	/* An injector that was killed may have left its code. */
	if (!memcmp(buf + from, begin, nbegin))
		return s->vdso + from;
	for (i = from; i < from + size; i++)
		if (buf[i])
			return 0;
	return s->vdso + from;
}
