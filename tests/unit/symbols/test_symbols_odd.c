// SPDX-License-Identifier: GPL-2.0-or-later
/* Names from damaged files, and from files with hostile DWARF. */
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/lib/scratch.h"
#include "sym_code.h"
#include "test_symbols_files.h"

#define TEXT	0x401000ull
#define DATA	0x403000ull

static void expect_function(struct sym_store *t, u32 n, const char *name)
{
	struct dep_place p[DEP_PLACES];

	assert_int_equal(dep_symbols_frames(t->s, 1, TEXT + 16 * n, 0, p, DEP_PLACES), 1);
	if (name)
		assert_string_equal(p->function, name);
	else
		assert_null(p->function);
}

static void expect_variable(struct sym_store *t, u64 at, const char *name, const char *type)
{
	struct dep_object o;

	assert_int_equal(dep_symbols_object(t->s, 1, DATA + at, 4, 0, &o), 1);
	assert_string_equal(o.name, name);
	assert_string_equal(o.type, type);
}

/* See sym_odd.S. */
void odd_dwarf(void **state)
{
	struct dep_place p[DEP_PLACES];
	struct dep_object o;
	struct sym_store t;
	struct sym_map m = { TEXT, TEXT + 0x1000, 0x1000, "" };
	time_t before = time(NULL);

	(void)state;
	strcpy(m.path, sym_program("sym_odd"));
	sym_store_begin(&t);
	sym_store_process(&t, 1);
	sym_store_map(&t, 1, &m, 0);
	sym_store_read(&t);
	expect_function(&t, 0, NULL);
	dep_symbols_frames(t.s, 1, TEXT + 16 * 3, 0, p, DEP_PLACES);
	assert_memory_equal(p->function, "_Z1fSt4pairIiiES_IS0_S0_E", 25);
	expect_function(&t, 4, "?]0;title?");
	assert_int_equal(dep_symbols_frames(t.s, 1, TEXT + 16 * 5, 0, p, DEP_PLACES), 2);
	assert_true(p[0].inlined && !p[0].function);
	assert_string_equal(p[1].function, "deep");
	expect_function(&t, 6, "back");
	expect_function(&t, 7, "_start");
	expect_variable(&t, 0, "turning_var", "turning");
	expect_variable(&t, 140, "?[31mred?", "int");
	assert_int_equal(dep_symbols_object(t.s, 1, DATA + 8, 4, 0, &o), 1);
	assert_string_equal(o.name, "pointing_var");
	assert_true(strlen(o.type) < sizeof(o.type));
	assert_int_equal(dep_symbols_object(t.s, 1, DATA + 64 + 4, 4, 0, &o), 1);
	assert_memory_equal(o.name, "within_var.a.a.a", 16);
	assert_int_equal(dep_symbols_object(t.s, 1, DATA + 128, 4, 0, &o), 1);
	assert_memory_equal(o.name, "wide_var", 8);
	assert_int_equal(dep_symbols_object(t.s, 1, DATA + 136, 4, 0, &o), 1);
	assert_string_equal(o.name, "astray_var");
	assert_true(time(NULL) - before < 20);
	sym_store_end(&t);
}

static u64 random_state;

static u64 random_number(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

/* Some wrong bytes: anywhere, or within a short range. */
static void damage(struct sym_bytes *b)
{
	u64 n = 1 + random_number() % 40, from = 0, size = b->size;

	if (random_number() % 2) {
		from = random_number() % b->size;
		size = b->size - from < 600 ? b->size - from : 600;
	}
	while (n--)
		b->data[from + random_number() % size] = (u8)random_number();
}

static void ask_everything(struct sym_store *t, const struct sym_run *r)
{
	struct dep_place p[DEP_PLACES];
	struct sym_file f = { .t = *t, .pc = r->map[0].start };
	struct dep_object o;
	u64 at;
	u32 i;

	for (at = r->map[0].start; at < r->map[0].end; at += 13)
		assert_true(dep_symbols_frames(t->s, 1, at, 0, p, DEP_PLACES) >= 1);
	for (i = 0; i < r->nat; i++)
		for (at = 0; at < 64; at += 4)
			dep_symbols_object(t->s, 1, r->at[i].addr + at, 1u << at % 5, 0, &o);
	dep_symbols_find(t->s, 1, "outer", NULL, 0);
	if (!dep_symbols_file_code(f.t.s, 1, f.pc, 0, &f.code))
		sym_file_check(&f);
}

static void set_seed(void)
{
	const char *seed = getenv("ADEPT_TEST_SEED");

	random_state = (seed ? strtoull(seed, NULL, 10) : 1) * 0x9e3779b97f4a7c15 + 1;
}

static u64 count_or(u64 n)
{
	const char *count = getenv("ADEPT_TEST_COUNT");

	return count ? strtoull(count, NULL, 10) : n;
}

/* A few wrong bytes in a section other than .text, or in the section headers. */
static void damage_section(struct sym_bytes *b)
{
	const Elf64_Ehdr *eh = (const void *)b->data;
	const Elf64_Shdr *sh = (const void *)(b->data + eh->e_shoff);
	u64 n = 1 + random_number() % 20, i, from = eh->e_shoff, size = 64ull * eh->e_shnum;

	i = eh->e_shoff ? random_number() % eh->e_shnum : 0;
	if (!eh->e_shoff) {
		size = 8192;
	} else if (i && sh[i].sh_size && sh[i].sh_type != SHT_NOBITS) {
		from = sh[i].sh_offset;
		size = sh[i].sh_size;
	}
	while (n--)
		b->data[from + random_number() % size] = (u8)random_number();
}

/* Any file has a list of functions and lines that is in order. */
void code_damaged(void **state)
{
	static const char *const programs[] = { "sym_ibt", "sym_parts", "sym_stripped", "sym_asm",
						"sym_noheaders", "sym_cpp", "sym_dwarf4" };
	struct sym_bytes b;
	struct sym_file f;
	char path[128];
	u64 i, n = count_or(400), listed = 0;

	(void)state;
	set_seed();
	for (i = 0; i < n; i++) {
		b = sym_load(sym_program(programs[i % 7]));
		damage_section(&b);
		scratch_name(path, sizeof(path));
		sym_save(path, &b);
		assert_true(sym_file_begin(&f, path));
		sym_file_check(&f);
		listed += f.code.nfunctions > 0;
		sym_file_end(&f);
		free(b.data);
		unlink(path);
	}
	print_message("%lu of %lu files have functions\n", listed, n);
	assert_true(listed > n / 4);
}

/* With any content there is a result within a short time. */
void damaged_files(void **state)
{
	static const char *const programs[] = { "sym_pie", "sym_cpp", "sym_types", "sym_gz",
						"sym_cpp_types", "sym_dwarf4", "sym_split" };
	u64 i, n = count_or(70);
	struct sym_bytes whole, b;
	struct sym_store t;
	struct sym_run r;
	char path[128];

	(void)state;
	set_seed();
	for (i = 0; i < n; i++) {
		sym_begin(&r, &t, path, programs[i % 7]);
		sym_store_read(&t);
		whole = sym_load(path);
		b = whole;
		b.data = malloc(b.size);
		memcpy(b.data, whole.data, b.size);
		damage(&b);
		if (random_number() % 8 == 0)
			b.size = random_number() % b.size;
		sym_save(path, &b);
		ask_everything(&t, &r);
		free(b.data);
		free(whole.data);
		sym_store_end(&t);
		unlink(path);
	}
}
