// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Match the hot data streams of two stores.
 *
 * A stream is a sequence of words of memory.  A word in a variable is known by the variable's name.
 * Words on heaps and stacks are known by their addresses if both stores are of the same program and
 * neither has random addresses.  Otherwise such a word is known by the instruction that referred to
 * it, and by the place of the word's first reference among those of the stream's other words: lists
 * that the same code walks are one member then.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/depctl/depctl.h"
#include "overlap.h"

/**
 * struct matcher - the streams of a store
 * @addresses: words that are in no variable are known by their addresses
 * @parts: numbers of references, the same in both stores
 * @words: of a stream, in the order of their first references
 */
struct matcher {
	struct diff *d;
	unsigned int side;
	bool addresses;
	struct numbering parts, words;
	struct overlap_members *m;
};

static int no_memory(void)
{
	warn("out of memory");
	return 1;
}

/* Build-id of the program; "" if it has none or is not known. */
static const char *program_build(const struct loaded *l)
{
	const struct dep_process *p;
	const struct dep_module *m;
	size_t i, n = dep_store_modules(l->store, &m);

	if (!dep_store_processes(l->store, &p) || !p->exe)
		return "";
	for (i = 0; i < n; i++)
		if (m[i].path && !strcmp(m[i].path, p->exe))
			return m[i].build_id;
	return "";
}

static bool same_addresses(const struct diff *d)
{
	const char *build = program_build(&d->l[0]);

	return *build && !strcmp(build, program_build(&d->l[1])) &&
	       !dep_store_meta(d->l[0].store)->aslr && !dep_store_meta(d->l[1].store)->aslr;
}

/* ---- instructions ---- */

static int by_place(const struct dep_insn_count *a, uint32_t process, uint32_t image, uint64_t pc)
{
	if (a->process != process)
		return a->process < process ? -1 : 1;
	if (a->image != image)
		return a->image < image ? -1 : 1;
	return a->pc < pc ? -1 : a->pc > pc;
}

static bool executed(const struct dep_profile *p, uint32_t process, uint32_t image, uint64_t pc)
{
	size_t low = 0, high = p->ninsns, mid;
	int d;

	while (low < high) {
		mid = low + (high - low) / 2;
		d = by_place(&p->insn[mid], process, image, pc);
		if (!d)
			return true;
		if (d < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return false;
}

/* The instruction at @pc, in the first file that had one executed there. */
static struct overlap_site find_code(const struct matcher *t, uint32_t process, uint64_t pc)
{
	const struct loaded *l = &t->d->l[t->side];
	const struct dep_module *m;
	size_t n = dep_store_modules(l->store, &m);
	uint32_t image;

	for (image = 0; image <= n; image++)
		if (executed(l->profile, process, image, pc))
			return overlap_site(t->d, t->side, process, image, pc);
	return (struct overlap_site){ .row = NO_FUNCTION };
}

/* ---- references ---- */

static uint32_t number_variable(struct matcher *t, const struct dep_object *o)
{
	uint32_t number;
	char *key;
	int size = asprintf(&key, "%s+%llx", o->name, (unsigned long long)o->offset);

	if (size < 0)
		return NUMBERING_FULL;
	number = number_of(&t->parts, key, (size_t)size);
	free(key);
	return number;
}

/* Keys of these begin with a NUL, which no variable's name has. */
static uint32_t number_word(struct matcher *t, const struct dep_stream *s,
			    const struct dep_stream_ref *ref)
{
	struct {
		uint64_t zero, address;
		struct overlap_site site;
		uint64_t word;
	} key = { 0 };
	uint32_t word;

	if (t->addresses) {
		key.address = ref->address;
		return number_of(&t->parts, &key, sizeof(key));
	}
	word = number_of(&t->words, &ref->address, sizeof(ref->address));
	if (word == NUMBERING_FULL)
		return NUMBERING_FULL;
	key.word = word;
	key.site = find_code(t, s->process, ref->pc);
	return number_of(&t->parts, &key, sizeof(key));
}

static int count_stream(struct matcher *t, const struct dep_stream *s)
{
	uint32_t *key = calloc(s->length + 1ul, sizeof(*key)), i;
	struct dep_object o;
	uint64_t weight;
	int ret;

	if (!key)
		return no_memory();
	for (i = 0; i < s->length; i++) {
		if (dep_symbols_object(t->d->l[t->side].symbols, s->process, s->ref[i].address, 0,
				       s->time_ns, &o) == 1)
			key[i] = number_variable(t, &o);
		else
			key[i] = number_word(t, s, &s->ref[i]);
		if (key[i] == NUMBERING_FULL)
			break;
	}
	if (i < s->length)
		ret = no_memory();
	else if (__builtin_mul_overflow(s->times, (uint64_t)s->length, &weight))
		ret = diff_sum(&(uint64_t){ UINT64_MAX }, 1, t->side);
	else
		ret = overlap_count(t->m, t->side, key, s->length * sizeof(*key), weight);
	numbering_free(&t->words);
	free(key);
	return ret;
}

static int count_side(struct matcher *t, unsigned int jobs)
{
	const struct dep_streams_options options = { .fold.jobs = jobs };
	struct dep_streams *s;
	int err = dep_streams_make(t->d->l[t->side].store, &options, &s), ret = 0;
	size_t i;

	if (err) {
		warn("%s: streams: %s", t->d->path[t->side],
		     err == -ENOMEM ? "out of memory" : dep_error());
		return 1;
	}
	for (i = 0; i < s->n && !ret; i++)
		ret = count_stream(t, &s->stream[i]);
	dep_streams_free(s);
	return ret;
}

int overlap_streams(struct diff *d, unsigned int jobs, struct overlap_members *m)
{
	struct matcher t = { .d = d, .m = m, .addresses = same_addresses(d) };
	int ret = 0;

	for (t.side = 0; t.side < SIDES && !ret; t.side++)
		ret = count_side(&t, jobs);
	numbering_free(&t.parts);
	return ret;
}
