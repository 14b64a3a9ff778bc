// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * A mapped file: check that it is still the recorded one, read its segments, and find its DWARF.
 */
#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "internal.h"

#define MAX_LOADS	256u
#define PAGE		4096ull

/* Convert a time in the store (CLOCK_MONOTONIC) to CLOCK_REALTIME; 0: unknown. */
static u64 realtime_of(const struct dep_symbols *s, u64 ns)
{
	const struct dep_meta *meta = dep_store_meta(s->store);

	if (!meta || !meta->start_realtime_ns || !ns || ns < meta->start_ns)
		return 0;
	return meta->start_realtime_ns + (ns - meta->start_ns);
}

struct dep_image *dep_image_new(struct dep_symbols *s, const struct dep_module *m)
{
	struct dep_image *im = calloc(1, sizeof(*im));

	if (!im)
		return NULL;
	im->s = s;
	im->path = dep_string(&s->strings, m->path);
	im->build_id = dep_string(&s->strings, m->build_id);
	im->mapped_ns = realtime_of(s, m->from_ns);
	if (!im->path || !im->build_id) {
		free(im);
		return NULL;
	}
	return im;
}

static void read_loads(struct dep_image *im)
{
	struct dep_load *l;
	GElf_Phdr ph;
	size_t i, n;

	if (elf_getphdrnum(im->main.elf, &n))
		return;
	im->load = calloc(MAX_LOADS, sizeof(*im->load));
	for (i = 0; im->load && i < n && im->nloads < MAX_LOADS; i++) {
		if (!gelf_getphdr(im->main.elf, (int)i, &ph) || ph.p_type != PT_LOAD)
			continue;
		/* Ignore segments with values so large that later sums could overflow. */
		if (ph.p_vaddr >> 56 || ph.p_memsz >> 56 || ph.p_offset >> 56 || ph.p_filesz >> 56)
			continue;
		l = &im->load[im->nloads++];
		l->vaddr = ph.p_vaddr;
		l->memsz = ph.p_memsz;
		l->offset = ph.p_offset;
		l->filesz = ph.p_filesz;
		l->exec = ph.p_flags & PF_X;
	}
}

/* True if the open file differs from the recorded one; also adds a message for the user. */
static bool is_another(struct dep_image *im)
{
	if (im->build_id[0] && strcmp(im->build_id, im->main.build_id)) {
		dep_symbols_message(im->s,
				    "%s is not the file that was recorded: its build-id is %s "
				    "and was %s; only offsets in the file are shown",
				    im->path, im->main.build_id[0] ? im->main.build_id : "gone",
				    im->build_id);
		return true;
	}
	if (!im->build_id[0] && im->mapped_ns && im->main.mtime_ns > im->mapped_ns) {
		dep_symbols_message(im->s, "%s was modified after it was recorded and has no "
				    "build-id to identify it; only offsets in the file are shown",
				    im->path);
		return true;
	}
	return false;
}

/* The kernel appends this to the path of an unlinked file in /proc/PID/maps. */
static const char deleted[] = " (deleted)";

void dep_image_open(struct dep_image *im)
{
	size_t n = strlen(im->path), cut = sizeof(deleted) - 1;
	char *path = NULL;
	int err;

	if (im->path[0] != '/')
		return;
	err = dep_elf_open(&im->main, im->path);
	/* If the file was unlinked, a new file with the same build-id may be at its path. */
	if (err && im->build_id[0] && n > cut && !strcmp(im->path + n - cut, deleted)) {
		path = strndup(im->path, n - cut);
		if (path && !dep_elf_open(&im->main, path) &&
		    !strcmp(im->main.build_id, im->build_id))
			err = 0;
		else
			dep_elf_close(&im->main);
		free(path);
	}
	if (err) {
		dep_symbols_message(im->s, "no symbols from %s: %s; only offsets in the file are "
				    "shown", im->path, err == -EINVAL ?
				    "the file is no ELF file for x86-64" :
				    strerror(-err));
		return;
	}
	if (is_another(im)) {
		dep_elf_close(&im->main);
		return;
	}
	read_loads(im);
}

static void free_units(struct dep_image *im)
{
	u32 i;

	for (i = 0; i < im->nunits; i++) {
		free(im->unit[i].func);
		dep_scopes_free(&im->unit[i].scopes);
		dep_spans_free(&im->unit[i].code);
	}
	free(im->unit);
	dep_spans_free(&im->units);
}

void dep_image_free(struct dep_image *im)
{
	if (!im)
		return;
	free_units(im);
	free(im->syms.sym);
	free(im->syms.by_name);
	free(im->syms.shown);
	dep_spans_free(&im->syms.code);
	dep_spans_free(&im->syms.loose);
	dep_spans_free(&im->syms.data);
	free(im->function);
	free(im->line);
	free(im->vars.var);
	free(im->vars.atomic);
	dep_scopes_free(&im->vars.scopes);
	dep_spans_free(&im->vars.data);
	if (im->dw)
		dwarf_end(im->dw);
	dep_elf_close(&im->debug);
	dep_elf_close(&im->main);
	free(im->load);
	free(im);
}

/*
 * Whole pages are mapped, so a page at a boundary belongs to two segments.  Segments as executable
 * as the mapping are better, and best is the one with which the mapping begins.
 */
static u32 fits(const struct dep_load *l, const struct dep_module *m)
{
	bool exec = m->prot & PROT_EXEC;

	return 1 + (exec == l->exec) * 2 + ((l->offset & -PAGE) == m->offset);
}

bool dep_image_linked(const struct dep_image *im, const struct dep_module *m, u64 offset,
		      u64 *vaddr)
{
	const struct dep_load *l;
	u32 i, best = 0;

	for (i = 0; i < im->nloads; i++) {
		l = &im->load[i];
		if (offset < (l->offset & -PAGE) ||
		    offset >= ((l->offset + l->filesz + PAGE - 1) & -PAGE) || fits(l, m) <= best)
			continue;
		*vaddr = offset - l->offset + l->vaddr;
		best = fits(l, m);
	}
	return best;
}

u64 dep_image_text(const struct dep_image *im)
{
	u32 i;

	for (i = 0; i < im->nloads; i++)
		if (im->load[i].exec)
			return im->load[i].vaddr & -PAGE;
	return 0;
}

static bool has_segment(const struct dep_image *im, u64 lo, u64 hi, bool code)
{
	const struct dep_load *l;
	u32 i;

	/* Nothing is at address 0, to which linkers assign discarded code. */
	if (!lo || lo >= hi)
		return false;
	for (i = 0; i < im->nloads; i++) {
		l = &im->load[i];
		if ((l->exec || !code) && lo >= l->vaddr && hi <= l->vaddr + l->memsz)
			return true;
	}
	return false;
}

bool dep_image_is_code(const struct dep_image *im, u64 lo, u64 hi)
{
	return has_segment(im, lo, hi, true);
}

bool dep_image_is_data(const struct dep_image *im, u64 lo, u64 hi)
{
	return has_segment(im, lo, hi, false);
}

static bool has_dwarf(Elf *elf)
{
	return elf && (dep_elf_has(elf, ".debug_info") || dep_elf_has(elf, ".zdebug_info"));
}

void dep_image_debug(struct dep_image *im)
{
	if (im->have_debug || !im->main.elf)
		return;
	im->have_debug = true;
	if (!has_dwarf(im->main.elf))
		dep_elf_open_debug(&im->debug, &im->main, im->path);
}

Dwarf *dep_image_dwarf(struct dep_image *im)
{
	Elf *elf = NULL;

	if (im->have_dw || !im->main.elf)
		return im->dw;
	im->have_dw = true;
	dep_image_debug(im);
	if (has_dwarf(im->main.elf))
		elf = im->main.elf;
	else if (has_dwarf(im->debug.elf))
		elf = im->debug.elf;
	if (elf)
		im->dw = dwarf_begin_elf(elf, DWARF_C_READ, NULL);
	return im->dw;
}
