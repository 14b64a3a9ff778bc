/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The model: tables built from the log's frames.  Strings and descriptors point
 * into the log, which must stay in memory.
 */
#ifndef DEP_FORMAT_MODEL_H
#define DEP_FORMAT_MODEL_H

#include "../../include/dep/store.h"
#include "index.h"
#include "log.h"

struct dep_fragment {
	const struct adept_desc_frag *d;
	u32 process;
	void *_Atomic prog;	/* recover/program.h, made on demand; dep_store.prog_free */
};

/* A MAP or UNMAP descriptor. */
struct dep_map_event {
	u32 process;
	u32 order;
	u64 time_ns, start, end;
	const struct adept_desc_map *map;	/* NULL: unmapped */
};

struct dep_build_id_row {
	u64 dev, inode;
	const char *id, *path;
};

struct dep_table {
	void *row;
	size_t n, room;
};

struct dep_model {
	struct dep_table processes, threads, modules, notes, fragments, map_events, build_ids;
	struct dep_index index;
	struct dep_wire_end end;
	int ended;
	u64 bad_bytes;		/* of the log */
	u64 bad_descriptors;	/* well framed and wrong in themselves */
	u64 code_bytes, desc_bytes;
};

/** dep_table_add() - a zeroed row at the end, or NULL */
void *dep_table_add(struct dep_table *t, size_t row_size);

int dep_model_build(struct dep_model *m, const void *log, size_t size);
/* The same one frame after the other; dep_modules_build() is the caller's. */
int dep_model_init(struct dep_model *m);
int dep_model_add(struct dep_model *m, const struct dep_frame *fr);
void dep_model_free(struct dep_model *m);

/** dep_modules_build() - m->map_events -> m->modules, which are empty (modules.c) */
int dep_modules_build(struct dep_model *m);

#endif
