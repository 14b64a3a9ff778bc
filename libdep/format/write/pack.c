// SPDX-License-Identifier: LGPL-2.1-or-later
/* Pack a chunk into a segment. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "libdep/format/codec/chain.h"
#include "libdep/format/codec/compress.h"
#include "libdep/format/file/error.h"
#include "pack.h"
#include "libdep/format/codec/split.h"
#include "writer.h"

struct dep_compressor {
	struct dep_packer *packer;
	u8 *control, *lens, *bytes, *out;
	size_t room;		/* maximum size of a body for which the buffers suffice */
	u64 slot[DEP_DELTA_SLOTS];
};

struct dep_packed {
	struct dep_seg_header h;
	size_t size;
	u8 data[];		/* stored bytes of the columns */
};

struct dep_compressor *dep_compressor_new(void)
{
	struct dep_compressor *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->packer = dep_packer_new();
	if (!p->packer) {
		free(p);
		return NULL;
	}
	return p;
}

static void free_buffers(struct dep_compressor *p)
{
	free(p->control);
	free(p->lens);
	free(p->bytes);
	free(p->out);
	p->control = p->lens = p->bytes = p->out = NULL;
}

void dep_compressor_free(struct dep_compressor *p)
{
	if (!p)
		return;
	free_buffers(p);
	dep_packer_free(p->packer);
	free(p);
}

static int make_room(struct dep_compressor *p, size_t size)
{
	if (p->out && p->room >= size)
		return 0;
	free_buffers(p);
	p->control = malloc(DEP_SPLIT_ROOM(size));
	p->lens = malloc(DEP_SPLIT_ROOM(size / 8));
	p->bytes = malloc(DEP_SPLIT_ROOM(size));
	/* Room for the packed control column and both packed streams of the value column. */
	p->out = malloc(2 * dep_column_bound(DEP_SPLIT_ROOM(size)) +
			dep_column_bound(DEP_SPLIT_ROOM(size / 8)) + sizeof(struct dep_delta));
	if (!p->control || !p->lens || !p->bytes || !p->out) {
		free_buffers(p);
		return dep_fail(-ENOMEM, "cannot pack a segment");
	}
	p->room = size;
	return 0;
}

/* True if the bytes after the last whole record can be the unfinished record at c->tail. */
static int tail_good(const struct dep_split *s, const struct adept_chunk *c)
{
	struct dep_exit_entry e = dep_index_get(s->x, c->tail.frag);
	u32 left = c->fill - c->tail_at;

	return e.bytes && e.frag < s->limit && e.first && left >= 4 && left <= ADEPT_MAX_RECORD &&
	       (left - 4) % 8 == 0;
}

/* Split the body into columns; @h receives the unfinished record's position and lost bytes. */
static void split_body(struct dep_split *s, const struct adept_chunk *c, const u8 *body,
		       struct dep_seg_header *h)
{
	u32 whole = c->tail_at < c->fill ? c->tail_at : c->fill;
	struct dep_exit_entry e;

	dep_split(s, body, whole);
	h->head = c->head;
	if (s->parsed == whole && whole < c->fill && tail_good(s, c)) {
		h->tail_values = (c->fill - whole - 4) / 8;
		dep_split_tail(s, body + whole + 4, h->tail_values);
		h->tail = c->tail;
		return;
	}
	/* The unfinished record can be empty: only c->tail says where the thread was. */
	e = dep_index_get(s->x, c->tail.frag);
	if (s->parsed == c->fill && c->tail.frag && e.bytes && e.frag < s->limit) {
		h->tail = c->tail;
		return;
	}
	h->lost_bytes = c->fill - s->parsed;
	if (h->lost_bytes)
		h->flags |= DEP_SEG_CUT;
}

/*
 * Write the value column, as differences, to @out.  @quick, for temporary stores: do not compress
 * the differences, since that saves little space and takes most of the time.
 */
static u32 pack_values(struct dep_compressor *p, const struct dep_split *s, u32 lens_raw,
		       bool quick, u8 *out, u8 *codec)
{
	struct dep_delta d = { .bytes_raw = s->bytes_size };
	u8 *at = out + sizeof(d);

	*codec = DEP_C_RAW;
	if (!s->values)
		return 0;
	if (quick)
		dep_packer_level(p->packer, DEP_PACKER_NONE);
	d.lens_stored = dep_column_pack(p->packer, p->lens, lens_raw, at, &d.lens_codec);
	at += d.lens_stored;
	at += dep_column_pack(p->packer, p->bytes, s->bytes_size, at, &d.bytes_codec);
	memcpy(out, &d, sizeof(d));
	*codec = DEP_C_DELTA;
	return at - out;
}

int dep_writer_pack(const struct dep_writer *w, struct dep_compressor *p, uint32_t known,
		    uint32_t thread, const struct adept_chunk *c, const void *body,
		    struct dep_packed **out)
{
	struct dep_seg_header h = {
		.magic = DEP_SEG_HEAD_MAGIC, .version = w->fmt.version,
		.size = sizeof(h), .thread = thread, .seq = c->seq, .raw_bytes = c->fill,
		.dropped_chunks = c->dropped_chunks, .dropped_bytes = c->dropped_bytes,
		.start_ns = c->start_ns, .timestamp = c->timestamp,
		.fs_base = c->fs_base, .gs_base = c->gs_base,
	};
	struct dep_split s = { .x = &w->index, .limit = known, .slot = p->slot };
	struct dep_packed *pk;
	u32 lens_raw;
	u8 *value;

	*out = NULL;
	if (c->fill > DEP_BODY_MAX)
		return dep_fail(-EMSGSIZE, "a chunk of %u bytes is too large", c->fill);
	if (make_room(p, c->fill))
		return -ENOMEM;
	dep_packer_level(p->packer, w->level);
	s.control = p->control;
	s.lens = p->lens;
	s.bytes = p->bytes;
	split_body(&s, c, body, &h);
	memcpy(h.regs, c->regs, sizeof(h.regs));
	h.control_raw = s.control_size;
	h.value_raw = s.values * 8;
	h.control_stored = dep_column_pack(p->packer, p->control, h.control_raw, p->out,
					   &h.control_codec);
	value = p->out + h.control_stored;
	lens_raw = s.values ? dep_delta_lens(p->lens, s.values) : 0;
	h.value_stored = pack_values(p, &s, lens_raw, w->level == DEP_LEVEL_QUICK, value,
				     &h.value_codec);
	h.control_check = XXH3_64bits_withSeed(p->out, h.control_stored, w->fmt.seed);
	h.value_check = XXH3_64bits_withSeed(value, h.value_stored, w->fmt.seed);
	h.content = dep_seg_content(&w->fmt, &(struct dep_contents){
		.control = p->control, .control_size = h.control_raw,
		.lens = p->lens, .lens_size = lens_raw,
		.bytes = p->bytes, .bytes_size = s.bytes_size,
	});

	pk = malloc(sizeof(*pk) + h.control_stored + h.value_stored);
	if (!pk)
		return dep_fail(-ENOMEM, "segment");
	pk->h = h;
	pk->size = (size_t)h.control_stored + h.value_stored;
	memcpy(pk->data, p->out, pk->size);
	*out = pk;
	return 0;
}

int dep_writer_put(struct dep_writer *w, struct dep_packed *pk)
{
	struct iovec iov[2] = { { &pk->h, sizeof(pk->h) }, { pk->data, pk->size } };
	struct dep_chain *c = dep_chain_of(&w->chains, pk->h.thread);
	struct dep_seg_header *h = &pk->h;
	int err = c ? dep_writer_roll(w, dep_seg_bytes(h)) : -ENOMEM;

	if (!err) {
		h->index = c->segments;
		h->prev = c->chain;
		h->chain = dep_seg_chain(&w->fmt, h);
		h->check = XXH3_64bits_withSeed(h, offsetof(struct dep_seg_header, check),
						w->fmt.seed);
		err = dep_file_append(&w->seg, iov, 2);
	}
	if (!err) {
		c->segments++;
		c->chain = h->chain;
		c->raw_bytes += h->raw_bytes;
		w->unmarked += dep_seg_bytes(h);
	}
	if (err && !w->error)
		w->error = -err;
	w->discarded_bytes += err ? h->raw_bytes : h->lost_bytes;
	dep_writer_flush(w);
	free(pk);
	return err;
}

void dep_packed_free(struct dep_packed *pk)
{
	free(pk);
}

int dep_writer_segment(struct dep_writer *w, uint32_t thread, const struct adept_chunk *c,
		       const void *body)
{
	struct dep_packed *pk;
	int err;

	if (!w->press)
		w->press = dep_compressor_new();
	if (!w->press)
		err = dep_fail(-ENOMEM, "segment");
	else
		err = dep_writer_pack(w, w->press, w->nfrags, thread, c, body, &pk);
	if (!err)
		return dep_writer_put(w, pk);
	w->discarded_bytes += c->fill;
	return err;
}

uint32_t dep_writer_scan_known(const struct dep_writer *w, uint32_t known, const void *body,
			       uint32_t size)
{
	struct dep_split s = { .x = &w->index, .limit = known };

	dep_split(&s, body, size);
	return s.parsed;
}

uint32_t dep_writer_scan(struct dep_writer *w, const void *body, uint32_t size)
{
	return dep_writer_scan_known(w, w->nfrags, body, size);
}
