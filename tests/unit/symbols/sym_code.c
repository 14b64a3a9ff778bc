// SPDX-License-Identifier: GPL-2.0-or-later
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "sym_code.h"

/* Map the executable segments at @bias. Return: an address in one of them; 0: there is none. */
static u64 map_segments(struct sym_store *t, const char *path, const struct sym_bytes *b)
{
	const Elf64_Ehdr *eh = (const void *)b->data;
	Elf64_Phdr ph;
	u64 bias, pc = 0;
	struct sym_map m;
	u32 i;

	if (b->size < sizeof(*eh) || eh->e_phoff > b->size ||
	    (b->size - eh->e_phoff) / sizeof(ph) < eh->e_phnum)
		return 0;
	bias = eh->e_type == ET_DYN ? SYM_BIAS : 0;
	for (i = 0; i < eh->e_phnum; i++) {
		/* In a damaged file they need not be aligned. */
		memcpy(&ph, b->data + eh->e_phoff + i * sizeof(ph), sizeof(ph));
		if (ph.p_type != PT_LOAD || !(ph.p_flags & PF_X))
			continue;
		m = (struct sym_map){ .start = (bias + ph.p_vaddr) & ~0xfffull,
				      .end = (bias + ph.p_vaddr + ph.p_filesz + 0xfff) &
					     ~0xfffull,
				      .offset = ph.p_offset & ~0xfffull };
		strcpy(m.path, path);
		if (m.start >= m.end)
			continue;
		sym_store_map(t, 1, &m, 0);
		pc = bias + ph.p_vaddr;
	}
	return pc;
}

bool sym_file_begin(struct sym_file *f, const char *path)
{
	struct sym_bytes b;

	memset(f, 0, sizeof(*f));
	if (access(path, R_OK))
		return false;
	b = sym_load(path);
	sym_store_begin(&f->t);
	sym_store_process(&f->t, 1);
	f->pc = map_segments(&f->t, path, &b);
	free(b.data);
	sym_store_read(&f->t);
	if (f->pc)
		dep_symbols_file_code(f->t.s, 1, f->pc, 0, &f->code);
	return true;
}

void sym_file_end(struct sym_file *f)
{
	sym_store_end(&f->t);
}

void sym_file_check(struct sym_file *f)
{
	const struct dep_file_function *fn = f->code.function;
	const struct dep_file_line *row;
	size_t i, n = f->code.nfunctions;

	for (i = 0; i < n; i++) {
		assert_true(fn[i].start < fn[i].end);
		assert_true(!i || fn[i - 1].end <= fn[i].start);
		assert_true(fn[i].whole < n && fn[fn[i].whole].whole == fn[i].whole);
		assert_true(fn[i].kind < DEP_FUNCTION_KINDS);
		assert_int_equal(!fn[i].name, !fn[i].symbol);
		assert_true(fn[i].kind != DEP_FUNCTION_UNWIND || !fn[i].name);
	}
	n = dep_symbols_file_lines(f->t.s, 1, f->pc, 0, &row);
	for (i = 0; i < n; i++) {
		assert_true(row[i].start < row[i].end && row[i].line);
		assert_true(!i || row[i - 1].end <= row[i].start);
	}
}

const struct dep_file_function *sym_file_at(const struct sym_file *f, u64 at)
{
	size_t lo = 0, hi = f->code.nfunctions, mid;

	while (lo < hi) {
		mid = (lo + hi) / 2;
		if (f->code.function[mid].end <= at)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < f->code.nfunctions && f->code.function[lo].start <= at ?
	       &f->code.function[lo] : NULL;
}

const struct dep_file_function *sym_file_named(const struct sym_file *f, const char *symbol)
{
	const struct dep_file_function *fn, *found = NULL;
	size_t i;

	for (i = 0; i < f->code.nfunctions; i++) {
		fn = &f->code.function[i];
		if (!fn->symbol || strcmp(fn->symbol, symbol) || fn->kind == DEP_FUNCTION_STUB)
			continue;
		if (found)
			fail_msg("there are two functions %s", symbol);
		found = fn;
	}
	if (!found)
		fail_msg("there is no function %s", symbol);
	return found;
}

FILE *sym_pipe(const char *format, ...)
{
	char command[4096];
	va_list ap;
	FILE *f;

	va_start(ap, format);
	vsnprintf(command, sizeof(command), format, ap);
	va_end(ap);
	f = popen(command, "r");
	assert_non_null(f);
	return f;
}

void sym_pipe_end(FILE *f)
{
	assert_int_equal(pclose(f), 0);
}
