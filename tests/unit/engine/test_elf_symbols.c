// SPDX-License-Identifier: GPL-2.0-or-later
/* Hooked functions in images in memory: valid images and arbitrary ones. */
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "libdep/engine/hooks/hooks.h"

#define BASE	0x7f0000400000ull
#define SIZE	0x3000u
#define FIXED	0x400000ull

static const char names[] = "malloc\0free\0calloc\0";

/* The memory that the reader can access; everything else is unmapped. */
static struct {
	u64 base, size;
	u8 *byte;
	u64 reads;
} mem;

size_t rt_copy_in(void *to, const void *from, size_t n)
{
	u64 at = (u64)from - mem.base;

	mem.reads++;
	if (at >= mem.size)
		return 0;
	if (n > mem.size - at)
		n = mem.size - at;
	memcpy(to, mem.byte + at, n);
	return n;
}

static struct {
	u64 pc[16];
	u8 number[16];
	u32 n;
} seen;

static void found(void *arg, u64 pc, u8 number)
{
	assert_ptr_equal(arg, &seen);
	assert_true(number >= 1 && number <= 3);
	if (seen.n < 16) {
		seen.pc[seen.n] = pc;
		seen.number[seen.n] = number;
	}
	seen.n++;
}

static void look(void)
{
	memset(&seen, 0, sizeof(seen));
	mem.reads = 0;
	hooks_scan_elf(mem.base, names, found, &seen);
}

static void expect(u32 i, u8 number, u64 pc)
{
	assert_true(i < seen.n);
	assert_int_equal(seen.number[i], number);
	assert_int_equal(seen.pc[i], pc);
}

/* ---- an image ---- */

enum { PHDRS = 64, DYNAMIC = 0x400, SYMBOLS = 0x800, STRINGS = 0xc00, HASH = 0x1000 };

struct symbol {
	const char *name;
	u8 type;
	u16 section;
	u64 value;
};

/* Two versions of malloc, and symbols of that name that are not functions. */
static const struct symbol symbols[] = {
	{ "", 0, 0, 0 },
	{ "calloc", STT_FUNC, SHN_UNDEF, 0 },
	{ "free", STT_FUNC, 7, 0x2100 },
	{ "malloc", STT_FUNC, 7, 0x2000 },
	{ "malloc", STT_FUNC, 7, 0x2040 },
	{ "malloc", STT_GNU_IFUNC, 7, 0x2050 },
	{ "calloc", STT_OBJECT, 7, 0x2200 },
	{ "mallocs", STT_FUNC, 7, 0x2300 },
	{ "mall", STT_FUNC, 7, 0x2310 },
};

#define NSYMBOLS	(sizeof(symbols) / sizeof(symbols[0]))

static u32 hash_gnu(const char *p)
{
	u32 h = 5381;

	while (*p)
		h = h * 33 + (u8)*p++;
	return h;
}

static u32 hash_sysv(const char *p)
{
	u32 h = 0, g;

	while (*p) {
		h = (h << 4) + (u8)*p++;
		g = h & 0xf0000000;
		if (g)
			h ^= g >> 24;
		h &= ~g;
	}
	return h;
}

/* One bucket with all defined symbols. */
static void put_gnu_hash(void)
{
	u32 *h = (u32 *)(mem.byte + HASH), i;
	u64 bloom = 0;

	h[0] = 1;
	h[1] = 2;
	h[2] = 1;
	h[3] = 6;
	for (i = 2; i < NSYMBOLS; i++) {
		u32 v = hash_gnu(symbols[i].name);

		bloom |= 1ull << (v & 63) | 1ull << (v >> 6 & 63);
		h[7 + i - 2] = (v & ~1u) | (i + 1 == NSYMBOLS);
	}
	memcpy(&h[4], &bloom, 8);
	h[6] = 2;
}

/* Two buckets. */
static void put_sysv_hash(void)
{
	u32 *h = (u32 *)(mem.byte + HASH), i, *bucket = h + 2, *chain = h + 4;

	h[0] = 2;
	h[1] = NSYMBOLS;
	for (i = NSYMBOLS - 1; i; i--) {
		u32 *b = &bucket[hash_sysv(symbols[i].name) % 2];

		chain[i] = *b;
		*b = i;
	}
}

/*
 * Make an image with program headers at @vaddr, mapped at @base; @bias is added to the values of
 * DT_*.
 */
static void make(u64 base, u64 vaddr, u64 bias, int sysv)
{
	Elf64_Ehdr eh = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, 1 },
			  .e_type = ET_DYN, .e_machine = EM_X86_64, .e_phoff = PHDRS,
			  .e_phentsize = sizeof(Elf64_Phdr), .e_phnum = 3 };
	Elf64_Phdr ph[3] = {
		{ .p_type = PT_LOAD, .p_vaddr = vaddr, .p_memsz = 0x1800 },
		{ .p_type = PT_LOAD, .p_offset = 0x2000, .p_vaddr = vaddr + 0x2000,
		  .p_memsz = 0x1000 },
		{ .p_type = PT_DYNAMIC, .p_offset = DYNAMIC, .p_vaddr = vaddr + DYNAMIC,
		  .p_memsz = 6 * sizeof(Elf64_Dyn) },
	};
	Elf64_Dyn dyn[6] = {
		{ DT_STRTAB, { vaddr + STRINGS + bias } },
		{ DT_SYMTAB, { vaddr + SYMBOLS + bias } },
		{ DT_STRSZ, { 0x200 } },
		{ sysv ? DT_HASH : DT_GNU_HASH, { vaddr + HASH + bias } },
	};
	u32 at = 1, i;

	mem.base = base;
	mem.size = SIZE;
	memset(mem.byte, 0, SIZE);
	memcpy(mem.byte, &eh, sizeof(eh));
	memcpy(mem.byte + PHDRS, ph, sizeof(ph));
	memcpy(mem.byte + DYNAMIC, dyn, sizeof(dyn));
	for (i = 0; i < NSYMBOLS; i++) {
		Elf64_Sym s = { .st_info = ELF64_ST_INFO(STB_GLOBAL, symbols[i].type),
				.st_shndx = symbols[i].section,
				.st_value = symbols[i].value ? vaddr + symbols[i].value : 0 };

		if (*symbols[i].name) {
			s.st_name = at;
			strcpy((char *)mem.byte + STRINGS + at, symbols[i].name);
			at += (u32)strlen(symbols[i].name) + 1;
		}
		memcpy(mem.byte + SYMBOLS + i * sizeof(s), &s, sizeof(s));
	}
	if (sysv)
		put_sysv_hash();
	else
		put_gnu_hash();
}

/* All versions of malloc, and free; no undefined symbols, objects or indirect functions. */
static void finds_all(u64 base)
{
	look();
	assert_int_equal(seen.n, 3);
	expect(0, 1, base + 0x2000);
	expect(1, 1, base + 0x2040);
	expect(2, 2, base + 0x2100);
}

static void well_formed(void **state)
{
	(void)state;
	for (int sysv = 0; sysv < 2; sysv++) {
		make(BASE, 0, 0, sysv);
		finds_all(BASE);
		/* The dynamic linker has relocated it. */
		make(BASE, 0, BASE, sysv);
		finds_all(BASE);
		make(FIXED, FIXED, 0, sysv);
		finds_all(FIXED);
		/* Linked at an address and mapped at another one. */
		make(BASE, 0x10000, BASE - 0x10000, sysv);
		finds_all(BASE);
	}
}

static void no_image(void **state)
{
	(void)state;
	make(BASE, 0, 0, 0);
	mem.byte[1] = 'X';
	look();
	assert_int_equal(seen.n, 0);
	make(BASE, 0, 0, 0);
	mem.byte[EI_CLASS] = ELFCLASS32;
	look();
	assert_int_equal(seen.n, 0);
	make(BASE, 0, 0, 0);
	mem.size = 0;
	look();
	assert_int_equal(seen.n, 0);
	assert_int_equal(mem.reads, 1);
}

/* Each part of it may be missing. */
static void cut_off(void **state)
{
	(void)state;
	for (int sysv = 0; sysv < 2; sysv++) {
		make(BASE, 0, 0, sysv);
		for (mem.size = SIZE; mem.size; mem.size--) {
			look();
			assert_true(seen.n <= 3);
		}
	}
}

/* A chain without an end, and a name at the end of the strings. */
static void endless(void **state)
{
	u32 *h;

	(void)state;
	make(BASE, 0, 0, 1);
	h = (u32 *)(mem.byte + HASH);
	for (u32 i = 0; i < NSYMBOLS; i++)
		h[4 + i] = i;
	look();
	assert_true(mem.reads < 40000);
	make(BASE, 0, 0, 0);
	h = (u32 *)(mem.byte + HASH);
	h[4] = h[5] = ~0u;
	for (u32 i = 7; i < (SIZE - HASH) / 4; i++)
		h[i] = hash_gnu("malloc") & ~1u;
	look();
	assert_true(mem.reads < 40000);
}

static void string_bounds(void **state)
{
	Elf64_Dyn *d;

	(void)state;
	make(BASE, 0, 0, 0);
	d = (Elf64_Dyn *)(mem.byte + DYNAMIC);
	/* "calloc" "free" "malloc" "malloc": the last one's NUL is outside */
	d[2].d_un.d_val = 1 + 7 + 5 + 7 + 6;
	look();
	assert_int_equal(seen.n, 2);
	d[2].d_un.d_val = 0;
	look();
	assert_int_equal(seen.n, 0);
}

static char all[512];

static void add_name(void *arg, u64 pc, const char *name)
{
	assert_ptr_equal(arg, &seen);
	assert_true(strlen(name) < 256);
	if (seen.n < 16)
		seen.pc[seen.n] = pc;
	if (seen.n++ < 16)
		snprintf(all + strlen(all), sizeof(all) - strlen(all), "%.20s ", name);
}

static void look_at_each(void)
{
	memset(&seen, 0, sizeof(seen));
	mem.reads = 0;
	*all = '\0';
	hooks_each_elf(mem.base, add_name, &seen);
}

/* All functions with their names, by either table; no undefined symbols or objects. */
static void each_function(void **state)
{
	u32 *h;

	(void)state;
	for (int sysv = 0; sysv < 2; sysv++) {
		make(BASE, 0, sysv ? BASE : 0, sysv);
		look_at_each();
		assert_string_equal(all, "free malloc malloc mallocs mall ");
		assert_int_equal(seen.pc[0], BASE + 0x2100);
		assert_int_equal(seen.pc[4], BASE + 0x2310);
		for (mem.size = SIZE; mem.size; mem.size--) {
			look_at_each();
			assert_true(seen.n <= 5);
		}
	}
	/* A chain without an end: it ends with the image. */
	make(BASE, 0, 0, 0);
	h = (u32 *)(mem.byte + HASH);
	for (u32 i = 7; i < (SIZE - HASH) / 4; i++)
		h[i] = 0;
	look_at_each();
	assert_true(mem.reads < 40000);
}

/* With any content it ends soon, and reads only the memory of the image. */
static void random_bytes(void **state)
{
	const char *count = getenv("ADEPT_TEST_COUNT"), *seed = getenv("ADEPT_TEST_SEED");
	unsigned long n = count ? strtoul(count, NULL, 0) : 20000, i, k;
	static const u64 odd[] = { 0, 1, 0xff, 0xffff, 0x7fffffff, ~0u, 1ull << 63, ~0ull, BASE };
	u64 v;

	(void)state;
	srandom(seed ? (unsigned int)strtoul(seed, NULL, 0) : 1);
	for (i = 0; i < n; i++) {
		make(BASE, 0, random() & 1 ? BASE : 0, random() & 1);
		for (k = (unsigned long)random() % 6; k; k--) {
			v = odd[(unsigned long)random() % (sizeof(odd) / sizeof(odd[0]))];
			memcpy(mem.byte + (unsigned long)random() % 0x1080, &v,
			       1ul << random() % 4);
		}
		look();
		assert_true(mem.reads < 60000);
		look_at_each();
		assert_true(mem.reads < 60000);
	}
}

static int set_up(void **state)
{
	(void)state;
	mem.byte = malloc(SIZE);
	return !mem.byte;
}

static int tear_down(void **state)
{
	(void)state;
	free(mem.byte);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(well_formed),
		cmocka_unit_test(no_image),
		cmocka_unit_test(cut_off),
		cmocka_unit_test(endless),
		cmocka_unit_test(string_bounds),
		cmocka_unit_test(each_function),
		cmocka_unit_test(random_bytes),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
