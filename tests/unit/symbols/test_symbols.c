// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Names of addresses that programs print of themselves, for each kind of program and debug
 * information.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "libdep/symbols/internal.h"
#include "sym_run.h"
#include "test_symbols_files.h"

struct fixture {
	struct sym_run r;
	struct sym_store t;
	const char *source;
};

static bool begin(struct fixture *f, const char *program, const char *source)
{
	f->source = source;
	if (access(sym_program(program), X_OK) || !sym_run(&f->r, sym_program(program), NULL, NULL))
		return false;
	sym_store_of(&f->t, &f->r);
	return true;
}

static void end(struct fixture *f)
{
	sym_store_end(&f->t);
}

static void expect_place(const struct fixture *f, const struct dep_place *p, const char *function,
			 const char *mark, bool inlined)
{
	const char *slash;

	assert_non_null(p->function);
	assert_string_equal(p->function, function);
	assert_non_null(p->file);
	slash = strrchr(p->file, '/');
	assert_string_equal(slash ? slash + 1 : p->file, f->source);
	assert_int_equal(p->line, sym_line(f->source, mark));
	assert_true(p->column);
	assert_int_equal(p->inlined, inlined);
	assert_false(p->ambiguous);
	assert_true(p->linked);
	assert_int_equal(strlen(p->build_id), 40);
}

static size_t frames(struct fixture *f, const char *name, struct dep_place *p)
{
	return dep_symbols_frames(f->t.s, 1, sym_at(&f->r, name), 0, p, DEP_PLACES);
}

static int object(struct fixture *f, const char *name, u64 after, u32 size, struct dep_object *o)
{
	return dep_symbols_object(f->t.s, 1, sym_at(&f->r, name) + after, size, 0, o);
}

/* Compilers have different names for a type: long and long int. */
static void expect_type(const char *type, const char *want)
{
	const char *t = type;

	for (; *t && *want; t++, want++) {
		if (*t == ' ' && *want != ' ' && !strncmp(t, " int", 4))
			t += 4;
		if (*t != *want)
			break;
	}
	if (!strcmp(t, " int"))
		t += 4;
	if (*t || *want)
		fail_msg("the type is %s", type);
}

static void expect_object(struct fixture *f, const char *at, u32 size, const char *name,
			  const char *type, bool atomic)
{
	struct dep_object o;

	assert_int_equal(object(f, at, 0, size, &o), 1);
	assert_string_equal(o.name, name);
	expect_type(o.type, type);
	assert_int_equal(o.atomic, atomic);
	assert_int_equal(o.offset, 0);
	assert_true(o.start <= sym_at(&f->r, at) && sym_at(&f->r, at) < o.start + o.size);
}

static void check_c_code(struct fixture *f, const char *program)
{
	static const char *const start[] = { "start innermost", "start middle", "start outer" };
	struct dep_place p[DEP_PLACES], q[DEP_PLACES];
	size_t i;

	assert_int_equal(frames(f, "innermost", p), 3);
	expect_place(f, &p[0], "innermost", "innermost", true);
	expect_place(f, &p[1], "middle", "middle", true);
	expect_place(f, &p[2], "outer", "outer", false);
	assert_string_equal(p[2].module, sym_program(program));
	for (i = 0; i < 3; i++)
		assert_int_equal(p[i].start_line, sym_line(f->source, start[i]));
	/* With less room the outer frames are omitted, and a second query gives the same result. */
	assert_int_equal(dep_symbols_frames(f->t.s, 1, sym_at(&f->r, "innermost"), 0, q, 2), 3);
	assert_int_equal(dep_symbols_frames(f->t.s, 1, sym_at(&f->r, "innermost"), 0, NULL, 0), 3);
	assert_memory_equal(p, q, 2 * sizeof(*p));
	assert_int_equal(frames(f, "plain", p), 1);
	expect_place(f, p, "plain", "plain", false);
}

static bool has_dwarf(const struct fixture *f)
{
	size_t i;

	for (i = 0; i < f->t.s->nimages; i++)
		if (f->t.s->image[i]->have_dw)
			return true;
	return false;
}

/* Compilers append a dot and a suffix to the names of modified functions. */
static void expect_linker_name(const char *got, const char *function)
{
	size_t n = strlen(function);

	assert_non_null(got);
	if (strncmp(got, function, n) || (got[n] && got[n] != '.'))
		fail_msg("the function is %s and not %s", got, function);
}

static void expect_function(struct fixture *f, const char *name, const char *function)
{
	struct dep_place p, frame[DEP_PLACES];
	u64 pc = sym_at(&f->r, name);
	size_t n;

	dep_symbols_function(f->t.s, 1, pc, 0, &p);
	expect_linker_name(p.function, function);
	assert_false(p.file || p.line || p.column || p.inlined);
	n = dep_symbols_frames(f->t.s, 1, pc, 0, frame, DEP_PLACES);
	assert_string_equal(frame[n - 1].function, function);
	assert_ptr_equal(p.module, frame->module);
	assert_ptr_equal(p.build_id, frame->build_id);
	assert_true(p.offset == frame->offset && p.linked == frame->linked);
	dep_symbols_module(f->t.s, 1, pc, 0, &p);
	assert_ptr_equal(p.module, frame->module);
	assert_true(!p.function && p.linked == frame->linked);
}

/* ELF symbols alone suffice, wherever they are. */
static void check_c_functions(struct fixture *f)
{
	struct dep_place p;

	dep_symbols_module(f->t.s, 1, sym_at(&f->r, "plain"), 0, &p);
	assert_true(p.module && !p.function);
	assert_false(f->t.s->nimages && f->t.s->image[0]->have_syms);
	dep_symbols_function(f->t.s, 1, sym_at(&f->r, "plain"), 0, &p);
	expect_linker_name(p.function, "plain");
	assert_false(has_dwarf(f));
	expect_function(f, "plain", "plain");
	expect_function(f, "innermost", "outer");
}

/* No symbols, only the compiler's debug information. */
static void no_symbols(void **state)
{
	struct fixture f;

	(void)state;
	assert_true(begin(&f, "sym_nosyms", "sym_c.c"));
	expect_function(&f, "innermost", "outer");
	expect_function(&f, "plain", "plain");
	end(&f);
}

static void check_c_data(struct fixture *f, bool old)
{
	struct dep_object o;

	expect_object(f, "queue", 8, "queue.size", "long", false);
	assert_int_equal(object(f, "queue", 0, sizeof(long), &o), 1);
	assert_non_null(strstr(o.file, "sym_c.c"));
	assert_int_equal(o.line, sym_line("sym_c.c", "queue"));
	assert_true(o.start == sym_at(&f->r, "queue"));
	expect_object(f, "key", 4, "queue.head[2].key", "int", false);
	expect_object(f, "next", 8, "queue.head[3].next", "struct node *", false);
	assert_int_equal(object(f, "next", 5, 1, &o), 1);
	assert_string_equal(o.name, "queue.head[3].next");
	assert_int_equal(o.offset, 5);
	/* More than one member: the smallest part that has all; in arrays the first element. */
	expect_object(f, "key", 16, "queue.head[2]", "struct node", false);
	expect_object(f, "key", 32, "queue.head[2]", "struct node", false);
	expect_object(f, "queue", 64, "queue", "struct queue", false);
	/* In a union the member with the size of the access. */
	expect_object(f, "union", 8, "queue.u.as_long", "long", false);
	expect_object(f, "union", 4, "queue.u.as_float", "float", false);
	/* DWARF before version 5 cannot express _Atomic. */
	if (!old)
		expect_object(f, "count", 4, "queue.count", "_Atomic int", true);
	expect_object(f, "second", 2, "queue.second", "short", false);
	/* The access does not say which bit field was meant. */
	assert_int_equal(object(f, "bits", 0, 1, &o), 1);
	assert_string_equal(o.name, "queue");
	expect_object(f, "text", 8, "queue.inner.text", "const char *", false);
	expect_object(f, "table", 4, "table[2][3]", "int", false);
	expect_object(f, "letters", 1, "letters[199]", "char", false);
	if (!old)
		expect_object(f, "ticks", 8, "ticks", "_Atomic long", true);
	expect_object(f, "last", 8, "last", "struct node *const", false);
	expect_object(f, "only_here", 4, "only_here", "int", false);
	expect_object(f, "calls", 4, "plain::calls", "int", false);
	assert_int_equal(dep_symbols_object(f->t.s, 1, (u64)(uintptr_t)&o, 4, 0, &o), 0);
	assert_int_equal(dep_symbols_object(f->t.s, 2, sym_at(&f->r, "ticks"), 4, 0, &o), 0);
}

/* The stubs after _init, which has no size, do not belong to it. */
static void stubs(void **state)
{
	struct dep_place p;
	struct fixture f;

	(void)state;
	assert_true(begin(&f, "sym_pie", "sym_c.c"));
	dep_symbols_function(f.t.s, 1, sym_at(&f.r, "init"), 0, &p);
	assert_string_equal(p.function, "_init");
	dep_symbols_function(f.t.s, 1, sym_at(&f.r, "init") + 64, 0, &p);
	assert_null(p.function);
	assert_non_null(p.module);
	end(&f);
}

static void c_forms(void **state)
{
	static const char *const forms[] = {
		"sym_pie", "sym_nopie", "sym_static", "sym_dwarf4", "sym_split", "sym_split4",
		"sym_gz", "sym_types", "sym_link", "sym_clang", "sym_clang4", "sym_lto",
	};
	const char *const *note;
	struct fixture f;
	size_t i, n = 0;

	(void)state;
	for (i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		/* Clang may be missing. */
		if (!begin(&f, forms[i], "sym_c.c")) {
			assert_non_null(strstr(forms[i], "clang"));
			continue;
		}
		print_message("%s\n", forms[i]);
		check_c_functions(&f);
		check_c_code(&f, forms[i]);
		check_c_data(&f, strchr(forms[i], '4'));
		assert_int_equal(dep_symbols_messages(f.t.s, &note), 0);
		end(&f);
		n++;
	}
	assert_true(n >= 8);
}

/* Only what the dynamic linker needs. */
static void stripped(void **state)
{
	struct dep_place p[DEP_PLACES];
	struct dep_object o;
	struct fixture f;

	(void)state;
	assert_true(begin(&f, "sym_stripped", "sym_c.c"));
	assert_int_equal(frames(&f, "innermost", p), 1);
	assert_string_equal(p->function, "outer");
	assert_null(p->file);
	assert_false(p->line || p->column || p->inlined);
	assert_true(p->linked);
	expect_function(&f, "innermost", "outer");
	assert_int_equal(object(&f, "key", 0, 4, &o), 1);
	assert_string_equal(o.name, "queue");
	assert_string_equal(o.type, "");
	assert_int_equal(o.offset, sym_at(&f.r, "key") - sym_at(&f.r, "queue"));
	assert_false(o.atomic || o.file);
	assert_int_equal(object(&f, "only_here", 0, 4, &o), 0);
	end(&f);
}

static void cpp_code(struct fixture *f)
{
	struct dep_place p[DEP_PLACES];

	assert_int_equal(frames(f, "touch", p), 1);
	expect_place(f, p, "app::Box<long>::touch(long)", "touch", false);
	assert_string_equal(p->symbol, "_ZN3app3BoxIlE5touchEl");
	assert_int_equal(frames(f, "lambda", p), 3);
	assert_non_null(strstr(p[0].function, "operator()"));
	assert_int_equal(p[0].line, sym_line("sym_cpp.cpp", "lambda"));
	assert_non_null(strstr(p[1].function, "apply<"));
	assert_int_equal(p[1].line, sym_line("sym_cpp.cpp", "apply"));
	assert_true(p[0].inlined && p[1].inlined);
	/* Not every compiler describes the parameters of such a function. */
	expect_place(f, &p[2], strchr(p[2].function, '(') == strrchr(p[2].function, '(') ?
		     "app::(anonymous namespace)::secret" :
		     "app::(anonymous namespace)::secret(int)", "secret", false);
}

static void cpp_data(struct fixture *f)
{
	expect_object(f, "value", 8, "app::box.value", "long", false);
	expect_object(f, "refs", 4, "app::box.refs", "std::atomic<int>", true);
	expect_object(f, "hits", 8, "app::box.hits[2]", "std::atomic<long>", true);
	expect_object(f, "made", 4, "app::Box<long>::made", "int", false);
	expect_object(f, "modern", 8, "app::Box<long>::modern", "long", false);
	expect_object(f, "total", 8, "app::total", "std::atomic<long>", true);
	expect_object(f, "flag", 1, "app::flag", "std::atomic_flag", true);
	expect_object(f, "ready", 1, "app::ready", "std::atomic<bool>", true);
	expect_object(f, "fake", 4, "other::fake.value", "int", false);
	expect_object(f, "hidden", 4, "app::(anonymous namespace)::hidden[1]", "int", false);
}

static void cpp_forms(void **state)
{
	static const char *const forms[] = { "sym_cpp", "sym_cpp_types", "sym_cpp_clang" };
	struct fixture f;
	size_t i, n = 0;

	(void)state;
	for (i = 0; i < 3; i++) {
		if (!begin(&f, forms[i], "sym_cpp.cpp")) {
			assert_non_null(strstr(forms[i], "clang"));
			continue;
		}
		print_message("%s\n", forms[i]);
		cpp_code(&f);
		cpp_data(&f);
		end(&f);
		n++;
	}
	assert_true(n >= 2);
}

static void find(void **state)
{
	struct fixture f;
	struct dep_place p[DEP_PLACES];
	u64 pc[4];

	(void)state;
	assert_true(begin(&f, "sym_pie", "sym_c.c"));
	assert_int_equal(dep_symbols_find(f.t.s, 1, "outer", pc, 4), 1);
	assert_true(pc[0] <= sym_at(&f.r, "innermost") && sym_at(&f.r, "innermost") - pc[0] < 256);
	assert_int_equal(dep_symbols_frames(f.t.s, 1, pc[0], 0, p, DEP_PLACES), 1);
	assert_string_equal(p->function, "outer");
	/* The function of libc has a version and several names. */
	assert_int_equal(dep_symbols_find(f.t.s, 1, "pthread_mutex_lock", pc, 4), 1);
	assert_true(dep_symbols_frames(f.t.s, 1, pc[0], 0, p, DEP_PLACES) >= 1);
	assert_non_null(strstr(p->module, "libc.so"));
	assert_non_null(strstr(p->function, "pthread_mutex_lock"));
	assert_int_equal(dep_symbols_find(f.t.s, 1, "outer", NULL, 0), 1);
	assert_int_equal(dep_symbols_find(f.t.s, 1, "oute", pc, 4), 0);
	assert_int_equal(dep_symbols_find(f.t.s, 1, "queue", pc, 4), 0);
	assert_int_equal(dep_symbols_find(f.t.s, 1, "", pc, 4), 0);
	assert_int_equal(dep_symbols_find(f.t.s, 2, "outer", pc, 4), 0);
	end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(c_forms),
		cmocka_unit_test(stubs),
		cmocka_unit_test(stripped),
		cmocka_unit_test(no_symbols),
		cmocka_unit_test(cpp_forms),
		cmocka_unit_test(find),
		cmocka_unit_test(files_replaced),
		cmocka_unit_test(files_missing),
		cmocka_unit_test(files_modified),
		cmocka_unit_test(files_deleted),
		cmocka_unit_test(no_files),
		cmocka_unit_test(over_time),
		cmocka_unit_test(loaded_libraries),
		cmocka_unit_test(processes),
		cmocka_unit_test(code_symbols),
		cmocka_unit_test(code_frames),
		cmocka_unit_test(code_stubs),
		cmocka_unit_test(code_lines),
		cmocka_unit_test(code_bytes),
		cmocka_unit_test(code_parts),
		cmocka_unit_test(code_asm),
		cmocka_unit_test(code_no_headers),
		cmocka_unit_test(code_link),
		cmocka_unit_test(code_hostile),
		cmocka_unit_test(code_damaged),
		cmocka_unit_test(odd_dwarf),
		cmocka_unit_test(damaged_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
