// SPDX-License-Identifier: GPL-2.0-or-later
/* Functions, stubs and lines of whole files, compared with what binutils says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "sym_code.h"
#include "test_symbols_files.h"

/* Programs of the system, those of them that are installed; then those of sym.mk. */
static const char *const system_files[] = {
	"/lib64/ld-linux-x86-64.so.2", "/lib/x86_64-linux-gnu/libc.so.6",
	"/lib/x86_64-linux-gnu/libstdc++.so.6", "/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
	"/usr/lib64/libc.so.6", "/usr/bin/perl", "/usr/lib/gcc/x86_64-linux-gnu/12/cc1",
};
static const char *const own_files[] = {
	"sym_pie", "sym_nopie", "sym_static", "sym_cpp", "sym_gz", "sym_ibt", "sym_static_pie",
	"sym_parts", "sym_stripped", "sym_noheaders", "sym_asm",
};

#define NSYSTEM (sizeof(system_files) / sizeof(system_files[0]))
#define NOWN	(sizeof(own_files) / sizeof(own_files[0]))

typedef void compare(struct sym_file *f, const char *path);

/* Return: for how many files @with was called. */
static u32 for_files(compare *with, bool own)
{
	struct sym_file f;
	const char *path;
	u32 i, n = 0;

	for (i = 0; i < (own ? NOWN : NSYSTEM); i++) {
		path = own ? sym_program(own_files[i]) : system_files[i];
		assert_true(!own || !access(path, R_OK));
		if (!sym_file_begin(&f, path))
			continue;
		print_message("%s: %zu functions\n", path, f.code.nfunctions);
		assert_true(f.code.nfunctions > 5);
		sym_file_check(&f);
		with(&f, path);
		sym_file_end(&f);
		n++;
	}
	return n;
}

/* ---- symbols: nm ---- */

struct nm {
	u64 at, size;
	char name[4096];
};

static bool next_symbol(FILE *pipe, struct nm *out)
{
	char line[8192], type;

	while (fgets(line, sizeof(line), pipe)) {
		out->size = 0;
		if (sscanf(line, "%lx %lx %c %4095s", &out->at, &out->size, &type,
			   out->name) != 4)
			continue;
		if (strchr("tTwWi", type) && out->size)
			return true;
	}
	return false;
}

/* Names of @at in nm's output must include that of the function. */
static void expect_symbol(const struct sym_file *f, const struct nm *first, u64 size, u64 next,
			  bool named)
{
	const struct dep_file_function *fn = sym_file_at(f, first->at);
	u64 end = first->at + size;

	if (next < end)
		end = next;
	if (!fn || fn->start != first->at || !named)
		fail_msg("no function at %lx %s", first->at, first->name);
	assert_int_equal(fn->kind, DEP_FUNCTION_SYMBOL);
	/* The separate debug file may have more symbols, within this one. */
	if (fn->end != end && !(fn->end < end && fn[1].start == fn->end))
		fail_msg("%s ends at %lx, not at %lx", first->name, fn->end, end);
}

static bool is_name(const struct sym_file *f, const struct nm *s)
{
	const struct dep_file_function *fn = sym_file_at(f, s->at);
	size_t n = strcspn(s->name, "@");

	return fn && fn->symbol && !strncmp(fn->symbol, s->name, n) && !fn->symbol[n];
}

static void compare_symbols(struct sym_file *f, const char *path)
{
	FILE *pipe = sym_pipe("{ nm -S -n --defined-only %s; nm -D -S -n --defined-only %s; } "
			      "2>/dev/null | sort", path, path);
	struct nm first = { 0 }, s;
	u64 size = 0;
	bool named = false;
	u32 n = 0;

	while (next_symbol(pipe, &s)) {
		if (n && s.at != first.at) {
			expect_symbol(f, &first, size, s.at, named);
			size = 0;
			named = false;
		}
		if (!size)
			first = s;
		size = s.size > size ? s.size : size;
		named = named || is_name(f, &s);
		n++;
	}
	sym_pipe_end(pipe);
	if (n)
		expect_symbol(f, &first, size, UINT64_MAX, named);
	print_message("  %u symbols\n", n);
}

void code_symbols(void **state)
{
	(void)state;
	assert_true(for_files(compare_symbols, false) >= 2);
	for_files(compare_symbols, true);
}

/* ---- .eh_frame: readelf ---- */

static void compare_frames(struct sym_file *f, const char *path)
{
	FILE *pipe = sym_pipe("readelf --debug-dump=frames %s 2>/dev/null; true", path);
	const struct dep_file_function *fn;
	u64 lo, hi, at;
	char line[512];
	u32 n = 0, starts = 0;

	while (fgets(line, sizeof(line), pipe)) {
		if (sscanf(line, "%*x %*x %*x FDE cie=%*x pc=%lx..%lx", &lo, &hi) != 2 || lo >= hi)
			continue;
		n++;
		fn = sym_file_at(f, lo);
		starts += fn && fn->start == lo;
		/* That of a signal's return address begins one byte early. */
		for (at = fn ? lo : lo + 1; at < hi; at = fn->end) {
			fn = sym_file_at(f, at);
			if (!fn)
				fail_msg("no function at %lx of %lx..%lx", at, lo, hi);
		}
	}
	sym_pipe_end(pipe);
	print_message("  %u entries, %u functions begin there\n", n, starts);
	assert_true(n - starts <= 1 + n / 20);
}

void code_frames(void **state)
{
	(void)state;
	assert_true(for_files(compare_frames, false) >= 2);
	for_files(compare_frames, true);
}

/* ---- stubs: objdump ---- */

static void compare_stubs(struct sym_file *f, const char *path)
{
	FILE *pipe = sym_pipe("objdump -d -j .plt -j .plt.sec -j .plt.got %s 2>/dev/null | "
			      "grep '^[0-9a-f]* <.*@plt>:$'; true", path);
	const struct dep_file_function *fn;
	char line[8192], name[4096];
	u32 n = 0, unnamed = 0;
	u64 at;

	while (fgets(line, sizeof(line), pipe)) {
		assert_int_equal(sscanf(line, "%lx <%4095[^>]", &at, name), 2);
		fn = sym_file_at(f, at);
		if (!fn || fn->start != at || fn->kind != DEP_FUNCTION_STUB)
			fail_msg("no stub at %lx %s", at, name);
		assert_true(fn->end - fn->start == 8 || fn->end - fn->start == 16);
		n++;
		if (name[0] == '*') {	/* an indirect function */
			unnamed++;
			continue;
		}
		name[strlen(name) - 4] = 0;
		name[strcspn(name, "@")] = 0;
		if (!fn->symbol || strcmp(fn->symbol, name))
			fail_msg("stub of %s has name %s", name, fn->symbol);
	}
	sym_pipe_end(pipe);
	print_message("  %u stubs, %u of indirect functions\n", n, unnamed);
	assert_true(n || strstr(path, "stat") || strstr(path, "asm") || strstr(path, "ld-") ||
		    strstr(path, "noheaders"));
}

/* Those of a static program are all of indirect functions, and objdump does not name them. */
static void check_static_stubs(void)
{
	FILE *pipe = sym_pipe("nm %s | sed -n 's/.* i //p'", sym_program("sym_static"));
	static char name[256][128];
	const struct dep_file_function *fn;
	struct sym_file f;
	u32 n = 0, i, k, stubs = 0;

	while (n < 256 && fscanf(pipe, "%127s", name[n]) == 1)
		n++;
	sym_pipe_end(pipe);
	assert_true(sym_file_begin(&f, sym_program("sym_static")));
	for (i = 0; i < f.code.nfunctions; i++) {
		fn = &f.code.function[i];
		if (fn->kind != DEP_FUNCTION_STUB)
			continue;
		assert_int_equal(fn->end - fn->start, 8);
		assert_non_null(fn->symbol);
		for (k = 0; k < n && strcmp(name[k], fn->symbol); k++)
			;
		assert_true(k < n);
		stubs++;
	}
	assert_true(stubs > 10);
	sym_file_end(&f);
}

void code_stubs(void **state)
{
	(void)state;
	check_static_stubs();
	assert_true(for_files(compare_stubs, false) >= 2);
	for_files(compare_stubs, true);
}

/* ---- lines: addr2line ---- */

#define SAMPLES	2000u

static const char *last_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Names of @n rows, evenly distributed, by both programs. */
static void compare_rows(struct sym_file *f, const char *path, const struct dep_file_line *row,
			 size_t n)
{
	char list[160], line[8192], want[8192], *mark;
	struct dep_place p[DEP_PLACES];
	unsigned long discriminator;
	size_t i, step = n / SAMPLES + 1;
	FILE *out, *pipe;

	snprintf(list, sizeof(list), "%s.list", f->t.dir);
	out = fopen(list, "w");
	assert_non_null(out);
	for (i = 0; i < n; i += step)
		fprintf(out, "%lx\n", row[i].end - 1);
	fclose(out);
	pipe = sym_pipe("addr2line -e %s < %s", path, list);
	for (i = 0; i < n; i += step) {
		assert_non_null(fgets(line, sizeof(line), pipe));
		mark = strstr(line, "(discriminator ");
		discriminator = mark ? strtoul(strchr(mark, ' '), NULL, 10) : 0;
		line[strcspn(line, " \n")] = 0;
		/* addr2line has the wrong file for some rows of DWARF 5; see compare_table(). */
		snprintf(want, sizeof(want), ":%u", row[i].line);
		if (strcmp(want, line + strcspn(line, ":")))
			fail_msg("%lx is at %s, not at %s", row[i].end - 1, line, want);
		dep_symbols_frames(f->t.s, 1, f->code.bias + row[i].end - 1, 0, p, DEP_PLACES);
		assert_int_equal(p->discriminator, discriminator);
		assert_int_equal(row[i].file[0], '/');
		dep_symbols_frames(f->t.s, 1, f->code.bias + row[i].start, 0, p, DEP_PLACES);
		assert_string_equal(p->file, row[i].file);
		assert_int_equal(p->line, row[i].line);
		assert_int_equal(p->column, row[i].column);
	}
	assert_null(fgets(line, sizeof(line), pipe));
	sym_pipe_end(pipe);
	unlink(list);
}

static const struct dep_file_line *row_at(const struct dep_file_line *row, size_t n, u64 at)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (at >= row[i].start && at < row[i].end)
			return &row[i];
	return NULL;
}

/* All rows that readelf has are there; of several at an address, the last one. */
static void compare_table(const char *path, const struct dep_file_line *row, size_t n)
{
	FILE *pipe = sym_pipe("readelf --debug-dump=decodedline -W %s 2>/dev/null", path);
	char line[8192], name[4096], number[32], file[4096] = "";
	const struct dep_file_line *have;
	u64 at, last = 0;
	u32 rows = 0, last_line = 0;

	while (fgets(line, sizeof(line), pipe)) {
		if (sscanf(line, "%4095s %31s %lx", name, number, &at) != 3 ||
		    strncmp(strstr(line, number) + strlen(number), " ", 1))
			continue;
		if (last && last_line && at > last) {
			have = row_at(row, n, last);
			if (!have || have->line != last_line || strcmp(last_name(have->file), file))
				fail_msg("%lx should be at %s:%u", last, file, last_line);
			rows++;
		}
		last = at;
		strcpy(file, last_name(name));
		last_line = number[0] == '-' ? 0 : (u32)strtoul(number, NULL, 10);
	}
	sym_pipe_end(pipe);
	print_message("  %u rows of readelf\n", rows);
	assert_true(rows > 10);
}

void code_lines(void **state)
{
	static const char *const forms[] = {
		"sym_pie", "sym_nopie", "sym_dwarf4", "sym_split", "sym_gz", "sym_types",
		"sym_lto", "sym_parts", "sym_cpp", "sym_cpp_types", "sym_link", "test_symbols",
	};
	const struct dep_file_line *row;
	struct sym_file f;
	size_t n;
	u32 i;

	(void)state;
	for (i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		assert_true(sym_file_begin(&f, sym_program(forms[i])));
		sym_file_check(&f);
		n = dep_symbols_file_lines(f.t.s, 1, f.pc, 0, &row);
		print_message("%s: %zu rows\n", forms[i], n);
		assert_true(n > 10);
		/* addr2line finds little in split DWARF. */
		if (strcmp(forms[i], "sym_split"))
			compare_rows(&f, sym_program(forms[i]), row, n);
		if (i < 11 && strcmp(forms[i], "sym_link"))
			compare_table(sym_program(forms[i]), row, n);
		sym_file_end(&f);
	}
	assert_true(sym_file_begin(&f, sym_program("sym_stripped")));
	assert_int_equal(dep_symbols_file_lines(f.t.s, 1, f.pc, 0, &row), 0);
	assert_int_equal(dep_symbols_file_lines(f.t.s, 1, 1, 0, &row), 0);
	assert_int_equal(dep_symbols_file_lines(f.t.s, 7, f.pc, 0, &row), 0);
	sym_file_end(&f);
}

/* ---- bytes ---- */

void code_bytes(void **state)
{
	const struct dep_file_function *fn;
	struct sym_file f;
	FILE *pipe;
	u8 b[4096];
	u64 at, byte, n = 0;

	(void)state;
	assert_true(sym_file_begin(&f, sym_program("sym_pie")));
	fn = sym_file_named(&f, "outer");
	assert_true(fn->end - fn->start < sizeof(b));
	assert_int_equal(dep_symbols_file_bytes(f.t.s, 1, f.pc, 0, fn->start, b,
						fn->end - fn->start), fn->end - fn->start);
	pipe = sym_pipe("objdump -s --start-address=%lu --stop-address=%lu %s | "
			"sed -n 's/^ [0-9a-f]* \\(.\\{35\\}\\)  .*/\\1/p' | tr -d ' \\n' | "
			"sed 's/../& /g'", fn->start, fn->end, sym_program("sym_pie"));
	while (fscanf(pipe, "%lx", &byte) == 1)
		assert_int_equal(b[n++], byte);
	sym_pipe_end(pipe);
	assert_int_equal(n, fn->end - fn->start);
	/* Up to the end of the segment, and not outside of all. */
	for (at = fn->start; dep_symbols_file_bytes(f.t.s, 1, f.pc, 0, at, b, 64) == 64; at += 64)
		;
	n = dep_symbols_file_bytes(f.t.s, 1, f.pc, 0, at, b, 64);
	assert_true(n < 64);
	assert_int_equal(dep_symbols_file_bytes(f.t.s, 1, f.pc, 0, at + n, b, 64), 0);
	assert_int_equal(dep_symbols_file_bytes(f.t.s, 1, f.pc, 0, UINT64_MAX - 3, b, 64), 0);
	assert_int_equal(dep_symbols_file_bytes(f.t.s, 1, f.pc, 0, 1ull << 40, b, 64), 0);
	assert_int_equal(dep_symbols_file_bytes(f.t.s, 1, 5, 0, fn->start, b, 64), 0);
	sym_file_end(&f);
}
