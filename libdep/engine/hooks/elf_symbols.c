// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Look up dynamic symbols of an ELF image in memory by its hash table, as the dynamic linker does.
 * The image belongs to the application: every value in it is checked, since the image may be
 * malformed, or may change or be unmapped at any time.
 */
#include <elf.h>

#include "libdep/engine/base/runtime.h"
#include "hooks.h"

#define MAX_PHDRS	64u
#define MAX_DYNAMIC	512u
#define MAX_CHAIN	4096u	/* maximal number of symbols examined in one hash bucket */
#define MAX_NAME	64u
#define MAX_ANY_NAME	256u	/* names in hooks_each_elf() */
#define MAX_SYMBOLS	(1u << 20)

struct image {
	u64 lo, hi;		/* address range that the image's PT_LOAD segments cover */
	u64 bias;		/* difference between addresses in memory and those in the file */
	u64 dynamic, dynamic_size;
	u64 symbols, strings, strings_size, gnu_hash, hash;
};

static int read_at(const struct image *m, u64 addr, void *to, u64 n)
{
	return addr >= m->lo && addr <= m->hi && n <= m->hi - addr &&
	       rt_copy_in(to, (void *)addr, n) == n;
}

static int read_segments(struct image *m, u64 base)
{
	u64 top = 0, first = 0;
	Elf64_Phdr ph;
	Elf64_Ehdr eh;
	int any = 0;

	m->lo = base;
	m->hi = base + ADEPT_PAGE;
	if (!read_at(m, base, &eh, sizeof(eh)) || memcmp(eh.e_ident, ELFMAG, SELFMAG) ||
	    eh.e_ident[EI_CLASS] != ELFCLASS64 || eh.e_machine != EM_X86_64 ||
	    eh.e_phentsize != sizeof(ph) || eh.e_phnum > MAX_PHDRS)
		return 0;
	for (u32 i = 0; i < eh.e_phnum; i++) {
		/* In practice, program headers follow the ELF header on the file's first page. */
		if (eh.e_phoff > ADEPT_PAGE ||
		    !read_at(m, base + eh.e_phoff + i * sizeof(ph), &ph, sizeof(ph)))
			return 0;
		if (ph.p_type == PT_DYNAMIC) {
			m->dynamic = ph.p_vaddr;
			m->dynamic_size = ph.p_memsz;
		}
		if (ph.p_type != PT_LOAD)
			continue;
		if (!any++)
			first = ph.p_vaddr - ph.p_offset;
		if (ph.p_vaddr < first || ph.p_vaddr + ph.p_memsz < ph.p_vaddr)
			return 0;
		if (ph.p_vaddr + ph.p_memsz > top)
			top = ph.p_vaddr + ph.p_memsz;
	}
	m->bias = base - first;
	m->hi = base + (top - first);
	m->dynamic += m->bias;
	return any && m->dynamic_size && m->hi > base && m->hi >> 47 == 0;
}

/*
 * Convert an address from the dynamic section.  The dynamic linker may already have added the bias
 * to it.
 */
static u64 address(const struct image *m, u64 value)
{
	return value < m->lo ? value + m->bias : value;
}

static int read_dynamic(struct image *m)
{
	Elf64_Dyn d;

	for (u32 i = 0; i < MAX_DYNAMIC && i < m->dynamic_size / sizeof(d); i++) {
		if (!read_at(m, m->dynamic + i * sizeof(d), &d, sizeof(d)))
			return 0;
		switch (d.d_tag) {
		case DT_NULL:
			i = MAX_DYNAMIC;
			break;
		case DT_SYMTAB:
			m->symbols = address(m, d.d_un.d_ptr);
			break;
		case DT_STRTAB:
			m->strings = address(m, d.d_un.d_ptr);
			break;
		case DT_STRSZ:
			m->strings_size = d.d_un.d_val;
			break;
		case DT_GNU_HASH:
			m->gnu_hash = address(m, d.d_un.d_ptr);
			break;
		case DT_HASH:
			m->hash = address(m, d.d_un.d_ptr);
			break;
		}
	}
	return m->symbols && m->strings;
}

/* Get the address of symbol number @n if it is a function named @name; otherwise 0. */
static u64 function_named(const struct image *m, u32 n, const char *name)
{
	u64 len = strlen(name) + 1;
	char text[MAX_NAME];
	Elf64_Sym sym;

	if (len > sizeof(text) ||
	    !read_at(m, m->symbols + (u64)n * sizeof(sym), &sym, sizeof(sym)) ||
	    ELF64_ST_TYPE(sym.st_info) != STT_FUNC || sym.st_shndx == SHN_UNDEF ||
	    sym.st_name > m->strings_size || len > m->strings_size - sym.st_name ||
	    !read_at(m, m->strings + sym.st_name, text, len) || memcmp(text, name, len))
		return 0;
	return m->bias + sym.st_value;
}

struct search {
	const char *name;
	u8 number;
	void (*found)(void *arg, u64 pc, u8 number);
	void *arg;
};

static void look_at(const struct image *m, u32 n, const struct search *s)
{
	u64 pc = function_named(m, n, s->name);

	if (pc)
		s->found(s->arg, pc, s->number);
}

static void search_gnu_hash(const struct image *m, const struct search *s)
{
	struct { u32 nbuckets, first, nbloom, shift; } h;
	u64 buckets, chains, word;
	u32 hash = 5381, n, other;

	if (!read_at(m, m->gnu_hash, &h, sizeof(h)) || !h.nbuckets || !h.nbloom)
		return;
	for (const char *p = s->name; *p; p++)
		hash = hash * 33 + (u8)*p;
	if (!read_at(m, m->gnu_hash + sizeof(h) + 8ull * (hash / 64 % h.nbloom), &word, 8) ||
	    !(word >> (hash & 63) & word >> (hash >> (h.shift & 31) & 63) & 1))
		return;
	buckets = m->gnu_hash + sizeof(h) + 8ull * h.nbloom;
	chains = buckets + 4ull * h.nbuckets;
	if (!read_at(m, buckets + 4ull * (hash % h.nbuckets), &n, 4) || n < h.first)
		return;
	for (u32 i = 0; i < MAX_CHAIN; i++, n++) {
		if (!read_at(m, chains + 4ull * (n - h.first), &other, 4))
			return;
		if ((other | 1) == (hash | 1))
			look_at(m, n, s);
		if (other & 1)
			return;
	}
}

static void search_hash(const struct image *m, const struct search *s)
{
	u32 hash = 0, n, h[2];
	u64 buckets;

	if (!read_at(m, m->hash, h, sizeof(h)) || !h[0])
		return;
	for (const char *p = s->name; *p; p++) {
		hash = (hash << 4) + (u8)*p;
		hash ^= hash >> 24 & 0xf0;
		hash &= 0x0fffffff;
	}
	buckets = m->hash + sizeof(h);
	if (!read_at(m, buckets + 4ull * (hash % h[0]), &n, 4))
		return;
	for (u32 i = 0; i < MAX_CHAIN && n && n < h[1]; i++) {
		look_at(m, n, s);
		if (!read_at(m, buckets + 4ull * h[0] + 4ull * n, &n, 4))
			return;
	}
}

void hooks_scan_elf(u64 base, const char *names, void (*found)(void *arg, u64 pc, u8 number),
		    void *arg)
{
	struct search s = { .name = names, .number = 1, .found = found, .arg = arg };
	struct image m = { 0 };

	if (!read_segments(&m, base) || !read_dynamic(&m))
		return;
	for (; *s.name; s.name += strlen(s.name) + 1, s.number++) {
		if (m.gnu_hash)
			search_gnu_hash(&m, &s);
		else if (m.hash)
			search_hash(&m, &s);
	}
}

/* Number of symbols by the GNU hash table: the end of the chain with the highest number. */
static u32 count_gnu_hash(const struct image *m)
{
	struct { u32 nbuckets, first, nbloom, shift; } h;
	u64 buckets, chains;
	u32 top = 0, n, hash;

	if (!read_at(m, m->gnu_hash, &h, sizeof(h)) || h.nbuckets > MAX_SYMBOLS)
		return 0;
	buckets = m->gnu_hash + sizeof(h) + 8ull * h.nbloom;
	chains = buckets + 4ull * h.nbuckets;
	for (u32 i = 0; i < h.nbuckets; i++) {
		if (!read_at(m, buckets + 4ull * i, &n, 4))
			return 0;
		if (n > top)
			top = n;
	}
	if (!top || top < h.first)
		return 0;
	for (; top < MAX_SYMBOLS; top++)
		if (!read_at(m, chains + 4ull * (top - h.first), &hash, 4) || hash & 1)
			break;
	return top + 1;
}

static u32 count_symbols(const struct image *m)
{
	u32 h[2];

	if (m->gnu_hash)
		return count_gnu_hash(m);
	if (!m->hash || !read_at(m, m->hash, h, sizeof(h)))
		return 0;
	return h[1] < MAX_SYMBOLS ? h[1] : MAX_SYMBOLS;
}

void hooks_each_elf(u64 base, void (*found)(void *arg, u64 pc, const char *name), void *arg)
{
	struct image m = { 0 };
	char name[MAX_ANY_NAME];
	Elf64_Sym sym;
	u64 len;
	u32 n;

	if (!read_segments(&m, base) || !read_dynamic(&m))
		return;
	n = count_symbols(&m);
	for (u32 i = 0; i < n; i++) {
		if (!read_at(&m, m.symbols + (u64)i * sizeof(sym), &sym, sizeof(sym)))
			return;
		if (ELF64_ST_TYPE(sym.st_info) != STT_FUNC || sym.st_shndx == SHN_UNDEF ||
		    sym.st_name >= m.strings_size)
			continue;
		len = m.strings_size - sym.st_name;
		len = len < sizeof(name) ? len : sizeof(name);
		if (!read_at(&m, m.strings + sym.st_name, name, len))
			continue;
		name[len - 1] = '\0';
		found(arg, m.bias + sym.st_value, name);
	}
}
