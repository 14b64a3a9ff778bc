/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The model: tables built from the log's frames.  Strings and descriptors point
 * into the log, which must stay in memory.
 */
#ifndef ADEPT_FORMAT_READ_MODEL_H
#define ADEPT_FORMAT_READ_MODEL_H

#include "dep/store.h"
#include "libdep/format/codec/exit_index.h"
#include "libdep/format/file/log.h"
#include "libdep/format/file/table.h"

struct dep_fragment {
	const struct adept_desc_frag *d;
	const struct adept_desc_translation *code;	/* NULL: not kept */
	u32 process;
	void *_Atomic prog;	/* recovery program, made on demand; freed by dep_store.prog_free */
};

/* A MAP or UNMAP descriptor. */
struct dep_map_event {
	u32 process;
	u32 order;
	u64 time_ns, start, end;
	const struct adept_desc_map *map;	/* NULL: unmapped */
};

struct dep_build_id_row {
	u32 order;
	u64 dev, inode;
	const char *id, *path;
};

/**
 * struct dep_proof - what the store must have of one thread, according to the log
 *
 * From THREAD, THREAD_END, MARK, TRIM and END frames; rows of a table sorted by serial.
 */
struct dep_proof {
	u32 serial;
	bool end_seen;		/* there is a THREAD_END */
	u32 thread;		/* row in dep_model.threads, counted from 1; 0: none */
	u64 segments;		/* stored since the beginning.. */
	u64 chain;		/* ..and the chain value of the last of them */
	u64 trimmed;		/* removed from the beginning.. */
	u64 trim_chain;		/* ..and the chain value of the last removed one */
};

/** struct dep_serial - finds a process by its serial */
struct dep_serial {
	u32 serial;
	u32 row;		/* in dep_model.processes; the last row with this serial */
};

struct dep_model {
	struct dep_table processes, threads, modules, notes, fragments, map_events, build_ids;
	struct dep_table log_lines;	/* of the engine's log: struct dep_log_line */
	struct dep_table proofs;
	struct dep_table serials;	/* of processes: struct dep_serial, sorted by serial */
	struct dep_index index;
	struct dep_wire_end end;
	int ended;		/* END is the last frame */
	u64 end_at, end_check;	/* offset of END, and its checksum */
	const u64 *file_size;	/* of END: end.files sizes; NULL in format 3 */
	u32 first_file;		/* files before it were removed on purpose */
	u64 mark_ns;		/* time of the last MARK, 0: none */
	u64 frames;		/* valid frames */
	u64 breaks;		/* places where frames are missing, doubled or out of order */
	u64 bad_bytes;		/* of the log */
	u64 bad_descriptors;	/* invalid ones in valid frames */
	u64 code_bytes, desc_bytes;
};

/** dep_build_id_add() - add a BUILD_ID frame to a table of struct dep_build_id_row */
int dep_build_id_add(struct dep_table *ids, const struct dep_log_entry *fr);
/** dep_build_id_order() - by file, for qsort() and bsearch() */
int dep_build_id_order(const void *a, const void *b);

/** dep_model_build() - build all tables from a log; @fmt receives its format */
int dep_model_build(struct dep_model *m, const void *log, size_t size, struct dep_format *fmt);
/* The same frame by frame, without dep_modules_build(). */
int dep_model_init(struct dep_model *m);
int dep_model_add(struct dep_model *m, const struct dep_log_entry *e);
void dep_model_free(struct dep_model *m);

/** dep_model_process() - the process with this serial, or NULL */
struct dep_process *dep_model_process(const struct dep_model *m, u32 serial);

/**
 * dep_modules_build() - fill m->modules, which is empty, from m->map_events (modules.c)
 * @input: bytes of the log
 */
int dep_modules_build(struct dep_model *m, u64 input);

#endif
