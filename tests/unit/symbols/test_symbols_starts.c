// SPDX-License-Identifier: GPL-2.0-or-later
/* How the code of a file is divided into functions and parts of functions. */
#include <elf.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/lib/scratch.h"
#include "sym_code.h"
#include "test_symbols_files.h"

/* Static functions of two files have one name, and each has a part. */
void code_parts(void **state)
{
	const struct dep_file_function *fn, *whole;
	struct sym_file f;
	u32 i, n = 0;
	u64 wholes[2];

	(void)state;
	assert_true(sym_file_begin(&f, sym_program("sym_parts")));
	for (i = 0; i < f.code.nfunctions; i++) {
		fn = &f.code.function[i];
		if (!fn->symbol || strcmp(fn->symbol, "work.cold"))
			continue;
		whole = &f.code.function[fn->whole];
		assert_string_equal(whole->symbol, "work");
		assert_true(n < 2);
		wholes[n++] = whole->start;
	}
	/* The linker keeps the order of the two files in each section. */
	assert_int_equal(n, 2);
	assert_true(wholes[0] < wholes[1]);
	fn = sym_file_named(&f, "unit1.cold");
	assert_string_equal(f.code.function[fn->whole].symbol, "unit1");
	assert_int_equal(fn->kind, DEP_FUNCTION_SYMBOL);
	fn = sym_file_named(&f, "unit1");
	assert_ptr_equal(&f.code.function[fn->whole], fn);
	sym_file_end(&f);
}

/* See sym_asm.S. */
void code_asm(void **state)
{
	static const struct {
		u64 start, end;
		const char *name, *whole;
	} want[] = {
		{ 0x401000, 0x401010, "plain", "plain" },
		{ 0x401010, 0x401020, "unsized", "unsized" },
		{ 0x401030, 0x401038, "outer", "outer" },
		{ 0x401038, 0x40103c, "inner", "inner" },
		{ 0x40103c, 0x401040, "outer", "outer" },
		{ 0x401040, 0x401050, "alias", "alias" },
		{ 0x401050, 0x401058, "short_one", "short_one" },
		{ 0x401058, 0x401060, NULL, "short_one" },
		{ 0x401060, 0x401070, NULL, NULL },
		{ 0x401080, 0x401090, "restore", "restore" },
		{ 0x401090, 0x401098, "left", "left" },
		{ 0x401098, 0x4010a8, "right", "right" },
		{ 0x4010b0, 0x4010b8, "part.part.3", "part" },
		{ 0x4010b8, 0x4010c0, "part.part.3.cold", "part" },
		{ 0x4010c0, 0x4010d0, "part", "part" },
		{ 0x4010d0, 0x4010d8, "nobody.cold", "nobody.cold" },
		{ 0x4010d8, 0x4010dc, "yang.cold", "yang.cold" },
		{ 0x4010dc, 0x4010e0, "yin.cold", "yin.cold" },
		{ 0x4010e0, 0x4010f0, "_start", "_start" },
		{ 0x405000, 0x405010, "in_more", "in_more" },
	};
	const struct dep_file_function *fn, *whole;
	struct sym_file f;
	u32 i;

	(void)state;
	assert_true(sym_file_begin(&f, sym_program("sym_asm")));
	sym_file_check(&f);
	for (i = 0; i < f.code.nfunctions; i++) {
		fn = &f.code.function[i];
		whole = &f.code.function[fn->whole];
		assert_true(i < sizeof(want) / sizeof(want[0]));
		assert_int_equal(fn->start, want[i].start);
		assert_int_equal(fn->end, want[i].end);
		assert_int_equal(!fn->name, !want[i].name);
		if (fn->name)
			assert_string_equal(fn->name, want[i].name);
		assert_int_equal(!whole->name, !want[i].whole);
		if (whole->name)
			assert_string_equal(whole->name, want[i].whole);
		assert_int_equal(fn->kind, fn->name ? DEP_FUNCTION_SYMBOL : DEP_FUNCTION_UNWIND);
	}
	assert_int_equal(i, sizeof(want) / sizeof(want[0]));
	assert_true(!f.code.bias && strlen(f.code.build_id) == 40);
	assert_string_equal(f.code.path, sym_program("sym_asm"));
	sym_file_end(&f);
}

/* Without section headers, .eh_frame is found by the segment of .eh_frame_hdr. */
void code_no_headers(void **state)
{
	const struct dep_file_function *fn, *same;
	struct sym_file with, without;
	u32 i, n = 0, stubs = 0;

	(void)state;
	assert_true(sym_file_begin(&with, sym_program("sym_stripped")));
	assert_true(sym_file_begin(&without, sym_program("sym_noheaders")));
	for (i = 0; i < with.code.nfunctions; i++) {
		fn = &with.code.function[i];
		same = sym_file_at(&without, fn->start);
		if (fn->kind == DEP_FUNCTION_UNWIND) {
			assert_non_null(same);
			assert_int_equal(same->start, fn->start);
			assert_int_equal(same->end, fn->end);
			n++;
		} else if (fn->kind == DEP_FUNCTION_STUB && same &&
			   same->kind == DEP_FUNCTION_STUB) {
			assert_int_equal(same->start, fn->start);
			assert_int_equal(same->end, fn->end);
			stubs++;
		}
	}
	print_message("%u functions, %u stubs\n", n, stubs);
	assert_true(stubs >= 3);
	sym_file_end(&with);
	sym_file_end(&without);
}

/* A file and its debug file have the functions that both had as one file. */
void code_link(void **state)
{
	const struct dep_file_function *a, *b;
	struct sym_file whole, link;
	const char *const *note;
	u32 i;

	(void)state;
	assert_true(sym_file_begin(&whole, sym_program("sym_pie")));
	assert_true(sym_file_begin(&link, sym_program("sym_link")));
	assert_int_equal(whole.code.nfunctions, link.code.nfunctions);
	for (i = 0; i < link.code.nfunctions; i++) {
		a = &whole.code.function[i];
		b = &link.code.function[i];
		assert_true(a->start == b->start && a->end == b->end && a->whole == b->whole);
		assert_int_equal(a->kind, b->kind);
		if (a->name)
			assert_string_equal(a->name, b->name);
	}
	assert_int_equal(whole.code.bias, SYM_BIAS);
	/* Nothing is mapped at this address, and in this process. */
	assert_int_equal(dep_symbols_file_code(link.t.s, 1, 1, 0, &link.code), -ENOENT);
	assert_int_equal(dep_symbols_file_code(link.t.s, 2, link.pc, 0, &link.code), -ENOENT);
	assert_int_equal(dep_symbols_messages(link.t.s, &note), 0);
	sym_file_end(&whole);
	sym_file_end(&link);
}

/* ---- hostile files ---- */

#define SYMBOLS	(1u << 20)
#define TEXT	0x400000ull
#define NAMES	(1u << 16)	/* bytes of the string table, one name that ends with the table */

struct hostile {
	Elf64_Ehdr eh;
	Elf64_Phdr ph;
	Elf64_Shdr sh[6];
	char sections[64];
	char names[NAMES];
	Elf64_Sym sym[SYMBOLS];
	u8 frames[1 << 20];
};

enum { NONE, TEXT_SECTION, SYMTAB, STRTAB, SHSTRTAB, EH_FRAME };

static void set_section(struct hostile *h, u32 i, u32 name, u32 type, const void *data, u64 size)
{
	h->sh[i] = (Elf64_Shdr){ .sh_name = name, .sh_type = type, .sh_size = size,
				 .sh_offset = (u64)((const char *)data - (const char *)h),
				 .sh_addralign = 1 };
}

static void set_headers(struct hostile *h)
{
	static const char names[] = "\0.text\0.symtab\0.strtab\0.shstrtab\0.eh_frame";

	memcpy(h->eh.e_ident, ELFMAG, SELFMAG);
	h->eh.e_ident[EI_CLASS] = ELFCLASS64;
	h->eh.e_ident[EI_DATA] = ELFDATA2LSB;
	h->eh.e_ident[EI_VERSION] = h->eh.e_version = EV_CURRENT;
	h->eh.e_type = ET_EXEC;
	h->eh.e_machine = EM_X86_64;
	h->eh.e_ehsize = sizeof(h->eh);
	h->eh.e_phoff = offsetof(struct hostile, ph);
	h->eh.e_phentsize = sizeof(h->ph);
	h->eh.e_phnum = 1;
	h->eh.e_shoff = offsetof(struct hostile, sh);
	h->eh.e_shentsize = sizeof(h->sh[0]);
	h->eh.e_shnum = 6;
	h->eh.e_shstrndx = SHSTRTAB;
	h->ph = (Elf64_Phdr){ .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_vaddr = TEXT,
			      .p_filesz = sizeof(*h), .p_memsz = sizeof(*h), .p_align = 4096 };
	memcpy(h->sections, names, sizeof(names));
	set_section(h, TEXT_SECTION, 1, SHT_PROGBITS, h, sizeof(*h));
	h->sh[TEXT_SECTION].sh_flags = SHF_ALLOC | SHF_EXECINSTR;
	h->sh[TEXT_SECTION].sh_addr = TEXT;
	set_section(h, SYMTAB, 7, SHT_SYMTAB, h->sym, sizeof(h->sym));
	h->sh[SYMTAB].sh_link = STRTAB;
	h->sh[SYMTAB].sh_entsize = sizeof(h->sym[0]);
	set_section(h, STRTAB, 15, SHT_STRTAB, h->names, sizeof(h->names));
	set_section(h, SHSTRTAB, 23, SHT_STRTAB, h->sections, sizeof(h->sections));
	set_section(h, EH_FRAME, 33, SHT_PROGBITS, h->frames, sizeof(h->frames));
	h->sh[EH_FRAME].sh_addr = TEXT + offsetof(struct hostile, frames);
}

static void put(u8 **p, u64 value, u32 size)
{
	memcpy(*p, &value, size);
	*p += size;
}

/* Entries that contain each other, or have all the same start. */
static void set_frames(struct hostile *h, u32 turn)
{
	u8 *p = h->frames, *end = p + sizeof(h->frames) - 64;
	u32 i;

	put(&p, 20, 4);
	put(&p, 0, 4);
	memcpy(p, "\1zR\0\1\x78\x10\1\0", 9);	/* 64-bit addresses, absolute */
	p += 16;
	for (i = 0; p < end; i++) {
		put(&p, 28, 4);
		put(&p, (u64)(p - h->frames), 4);
		put(&p, TEXT + (turn ? i : 0), 8);
		put(&p, turn ? sizeof(*h) - 2 * i : i + 1, 8);
		p += 8;
	}
}

static void set_symbols(struct hostile *h, u32 turn)
{
	u32 i;

	memset(h->names + 1, turn == 2 ? '.' : 'S', NAMES - 2);
	memcpy(h->names + 1, "_Z", 2);
	if (turn == 3)
		memcpy(h->names + NAMES - 9, "x.cold.1", 9);
	for (i = 1; i < SYMBOLS; i++)
		h->sym[i] = (Elf64_Sym){
			.st_name = 1 + (turn & 1 ? i % (NAMES - 2) : 0),
			.st_info = ELF64_ST_INFO(i & 1 ? STB_GLOBAL : STB_LOCAL, STT_FUNC),
			.st_shndx = TEXT_SECTION,
			.st_value = TEXT + (turn == 1 ? 0 : i),
			.st_size = turn == 2 ? 0 : turn == 1 ? i : sizeof(*h) - 2 * i,
		};
}

/*
 * A million symbols that overlap, at one address (turn 1), without sizes (2) or nested (3), with
 * names of up to 64 KiB; and the same of .eh_frame.
 */
void code_hostile(void **state)
{
	struct hostile *h = calloc(1, sizeof(*h));
	struct sym_bytes b = { (u8 *)h, sizeof(*h) };
	clock_t before = clock();
	struct sym_file f;
	char path[128];
	u32 turn;

	(void)state;
	assert_non_null(h);
	for (turn = 1; turn < 4; turn++) {
		scratch_name(path, sizeof(path));
		set_headers(h);
		set_frames(h, turn & 1);
		set_symbols(h, turn);
		sym_save(path, &b);
		assert_true(sym_file_begin(&f, path));
		sym_file_check(&f);
		print_message("%zu functions after %.1f s\n", f.code.nfunctions,
			      (double)(clock() - before) / CLOCKS_PER_SEC);
		assert_true(f.code.nfunctions >= 1 && f.code.nfunctions < 4 * SYMBOLS);
		sym_file_end(&f);
		unlink(path);
	}
	free(h);
	/* Processor time, so that other programs do not count. */
	assert_true((double)(clock() - before) / CLOCKS_PER_SEC < 60);
}
