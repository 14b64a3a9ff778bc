// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Unwind a copy of a stack, by libdwfl.
 *
 * libdwfl takes frames from unwind tables, or from frame pointers where there are none, and does
 * not say which.  So a frame counts as exact if the tables have an entry for its callee and the
 * callee is exact.  Where libdwfl cannot go on, the rest of the stack is searched for return
 * addresses (return_addresses.c).
 */
#include <elfutils/libdwfl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"
#include "unwind.h"

#define DWARF_RSP	7
#define DWARF_REGS	17	/* with the return address */

struct unwind {
	const struct dep_stack *stack;
	struct dep_stack_frame *frame;
	size_t n, max;
	u64 sp;			/* of the last frame; 0: not known */
	bool has_table;		/* the unwind tables have an entry for the last frame */
};

/* ---- what libdwfl asks for ---- */

static int no_elf(Dwfl_Module *mod, void **user, const char *name, Dwarf_Addr base, char **file,
		  Elf **elf)
{
	(void)mod, (void)user, (void)name, (void)base, (void)file, (void)elf;
	return -1;
}

/* Debug files are not needed, and must not be searched for in the network. */
static int no_debug(Dwfl_Module *mod, void **user, const char *name, Dwarf_Addr base,
		    const char *file, const char *link, GElf_Word crc, char **found)
{
	(void)mod, (void)user, (void)name, (void)base, (void)file, (void)link, (void)crc;
	(void)found;
	return -1;
}

static pid_t next_thread(Dwfl *dwfl, void *arg, void **state)
{
	(void)dwfl;
	if (*state)
		return 0;
	*state = arg;
	return 1;
}

static bool read_stack(Dwfl *dwfl, Dwarf_Addr at, Dwarf_Word *out, void *arg)
{
	const struct unwind *u = arg;
	u64 off = at - u->stack->regs[4];

	(void)dwfl;
	if (off >= u->stack->size || u->stack->size - off < sizeof(*out))
		return false;
	memcpy(out, (const char *)u->stack->bytes + off, sizeof(*out));
	return true;
}

static bool set_registers(Dwfl_Thread *thread, void *arg)
{
	/* Number in the hardware's order of each register of DWARF. */
	static const u8 order[16] = { 0, 2, 1, 3, 6, 7, 5, 4, 8, 9, 10, 11, 12, 13, 14, 15 };
	const struct unwind *u = arg;
	Dwarf_Word regs[DWARF_REGS];
	u32 i;

	for (i = 0; i < 16; i++)
		regs[i] = u->stack->regs[order[i]];
	regs[16] = u->stack->pc;
	return dwfl_thread_state_registers(thread, 0, DWARF_REGS, regs);
}

static bool has_table(Dwfl *dwfl, u64 pc)
{
	Dwfl_Module *mod = dwfl_addrmodule(dwfl, pc);
	Dwarf_Addr bias;
	Dwarf_CFI *cfi = mod ? dwfl_module_eh_cfi(mod, &bias) : NULL;
	Dwarf_Frame *frame;

	if (!cfi || dwarf_cfi_addrframe(cfi, pc - bias, &frame))
		return false;
	free(frame);
	return true;
}

static int add_frame(Dwfl_Frame *state, void *arg)
{
	Dwfl *dwfl = dwfl_thread_dwfl(dwfl_frame_thread(state));
	struct unwind *u = arg;
	bool interrupted;
	Dwarf_Word sp;
	u64 pc;

	if (u->n == u->max || !dwfl_frame_pc(state, &pc, &interrupted))
		return DWARF_CB_ABORT;
	u->sp = dwfl_frame_reg(state, DWARF_RSP, &sp) ? 0 : sp;
	u->frame[u->n] = (struct dep_stack_frame){
		.pc = pc, .interrupted = interrupted, .sp = u->sp,
		.exact = !u->n || (u->frame[u->n - 1].exact && u->has_table),
	};
	u->n++;
	u->has_table = has_table(dwfl, pc - !interrupted);
	return DWARF_CB_OK;
}

/* ---- the mapped files ---- */

static void report(Dwfl *dwfl, const struct dep_instance *in)
{
	int fd;

	if (!in->image->main.elf)
		return;
	fd = dup(in->image->main.fd);
	if (fd >= 0 && !dwfl_report_elf(dwfl, in->image->path, in->image->path, fd, in->bias, true))
		close(fd);
}

static Dwfl *open_files(struct dep_symbols *s, u32 process, u64 time_ns)
{
	static const Dwfl_Callbacks callbacks = {
		.find_elf = no_elf, .find_debuginfo = no_debug,
	};
	Dwfl *dwfl = dwfl_begin(&callbacks);
	struct dep_instance *in;
	size_t i, n = dep_instances(s, process, &in);

	if (!dwfl)
		return NULL;
	dwfl_report_begin(dwfl);
	for (i = 0; i < n; i++)
		if (!time_ns || !in[i].to_ns || time_ns < in[i].to_ns)
			report(dwfl, &in[i]);
	dwfl_report_end(dwfl, NULL, NULL);
	return dwfl;
}

/* Return: true if the stack was unwound to its end. */
static bool by_tables(struct unwind *u, struct dep_symbols *s, u32 process, u64 time_ns)
{
	static const Dwfl_Thread_Callbacks callbacks = {
		.next_thread = next_thread, .memory_read = read_stack,
		.set_initial_registers = set_registers,
	};
	Dwfl *dwfl = open_files(s, process, time_ns);
	bool done = false;

	if (!dwfl)
		return false;
	if (dwfl_attach_state(dwfl, NULL, 1, &callbacks, u))
		done = !dwfl_getthread_frames(dwfl, 1, add_frame, u);
	dwfl_end(dwfl);
	return done;
}

/* The first instruction of the function with @pc, by its symbol; 0: not known. */
static u64 function_at(struct dep_symbols *s, u32 process, u64 time_ns, u64 pc)
{
	bool ambiguous;
	struct dep_row *row = dep_row_at(s, process, pc, time_ns, &ambiguous);
	struct dep_image *im = row ? dep_row_image(s, row) : NULL;
	struct dep_elf_symbol symbol;
	u64 linked;
	u32 i;

	if (!im || !dep_image_linked(im, row->m, pc - row->m->start + row->m->offset, &linked))
		return 0;
	i = dep_image_function(im, linked);
	if (i == DEP_NO_INDEX)
		return 0;
	symbol = dep_elf_symbol(&im->syms, i);
	return linked - symbol.value < symbol.size ? pc - (linked - symbol.value) : 0;
}

static void find_calls(struct unwind *u, struct dep_symbols *s, u32 process, u64 time_ns)
{
	struct dep_stack_frame *f = u->frame;
	size_t i;

	for (i = 0; i < u->n; i++, f++) {
		f->function = function_at(s, process, time_ns, f->pc - !f->interrupted);
		if (!f->interrupted)
			f->call = dep_call_before(s, process, time_ns, f->pc,
						  i ? f[-1].function : 0);
	}
}

size_t dep_symbols_unwind(struct dep_symbols *s, uint32_t process, uint64_t time_ns,
			  const struct dep_stack *stack, struct dep_stack_frame *out, size_t max)
{
	struct unwind u = { .stack = stack, .frame = out, .max = max };

	if (by_tables(&u, s, process, time_ns)) {
		find_calls(&u, s, process, time_ns);
		return u.n;
	}
	if (!u.n) {
		out[u.n++] = (struct dep_stack_frame){
			.pc = stack->pc, .exact = true, .interrupted = true,
			.sp = stack->regs[4],
		};
		u.sp = stack->regs[4];
	}
	if (u.sp)
		u.n += dep_return_addresses(s, process, time_ns, stack, u.sp, out + u.n,
					    max - u.n);
	find_calls(&u, s, process, time_ns);
	return u.n;
}
