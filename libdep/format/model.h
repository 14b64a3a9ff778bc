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
#include "table.h"

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

/**
 * struct dep_proof - what the log says the store must have of one thread
 *
 * From THREAD, THREAD_END, MARK, TRIM and END frames; rows of a table sorted by serial.
 */
struct dep_proof {
	u32 serial;
	bool end_seen;		/* there is a THREAD_END */
	u32 thread;		/* its row of dep_model.threads, from 1; 0: there is none */
	u64 segments;		/* stored since the beginning.. */
	u64 chain;		/* ..and the chain value of the last of them */
	u64 trimmed;		/* removed from the beginning.. */
	u64 trim_chain;		/* ..and the chain value of the last of those */
};

struct dep_model {
	struct dep_table processes, threads, modules, notes, fragments, map_events, build_ids;
	struct dep_table proofs;
	struct dep_index index;
	struct dep_wire_end end;
	int ended;		/* END is the last frame */
	u64 end_at, end_check;	/* where it is, and its checksum */
	const u64 *file_size;	/* of END: end.files sizes; NULL in format 3 */
	u32 first_file;		/* files in front of it were removed on purpose */
	u64 mark_ns;		/* time of the last MARK, 0 = there is none */
	u64 frames;		/* good ones */
	u64 breaks;		/* places where frames are missing, doubled or out of order */
	u64 bad_bytes;		/* of the log */
	u64 bad_descriptors;	/* well framed and wrong in themselves */
	u64 code_bytes, desc_bytes;
};

/** dep_model_build() - @fmt receives the log's format */
int dep_model_build(struct dep_model *m, const void *log, size_t size, struct dep_format *fmt);
/* The same one frame after the other; dep_modules_build() is the caller's. */
int dep_model_init(struct dep_model *m);
int dep_model_add(struct dep_model *m, const struct dep_log_entry *e);
void dep_model_free(struct dep_model *m);

/** dep_modules_build() - m->map_events -> m->modules, which are empty (modules.c) */
int dep_modules_build(struct dep_model *m);

#endif
