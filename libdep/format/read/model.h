/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Model of a store: tables built from the log's frames.  Strings and descriptors point into the
 * log, which must stay in memory.
 */
#ifndef ADEPT_FORMAT_READ_MODEL_H
#define ADEPT_FORMAT_READ_MODEL_H

#include "dep/store.h"
#include "libdep/format/codec/exit_index.h"
#include "libdep/format/file/log.h"
#include "libdep/format/file/table.h"

struct dep_fragment {
	const struct adept_desc_frag *d;
	const struct adept_desc_translation *code;	/* code in the cache; NULL: not recorded */
	u32 process;
	u32 maps;	/* number of MAP and UNMAP descriptors in front of it, in the whole log */
	void *_Atomic prog;	/* recovery program, made on demand; freed by dep_store.prog_free */
};

/* A MAP or UNMAP descriptor. */
struct dep_map_event {
	u32 process;
	u32 order;
	u64 time_ns, start, end;
	const struct adept_desc_map *map;	/* the MAP descriptor; NULL for UNMAP */
};

struct dep_build_id_row {
	u32 order;
	u64 dev, inode;
	const char *id, *path;
};

/**
 * struct dep_proof - segments that the store must have of one thread, according to the log
 *
 * From THREAD, THREAD_END, MARK, TRIM and END frames; rows of a table sorted by serial.
 */
struct dep_proof {
	u32 serial;
	bool end_seen;		/* the log has a THREAD_END frame of the thread */
	u32 thread;		/* row in dep_model.threads, counted from 1; 0: none */
	u64 segments;		/* number of segments ever stored, removed segments included */
	u64 chain;		/* chain value of the last stored segment */
	u64 trimmed;		/* number of segments removed, from the first on */
	u64 trim_chain;		/* chain value of the last removed segment */
};

/** struct dep_serial - finds a process by its serial */
struct dep_serial {
	u32 serial;
	u32 row;		/* row in dep_model.processes; the last row with this serial */
};

struct dep_model {
	struct dep_table processes, threads, modules, notes, fragments, map_events, build_ids;
	struct dep_table attaches, open_files;	/* of attached processes */
	struct dep_table log_lines;	/* lines of the engine's log: struct dep_log_line */
	struct dep_table proofs;
	struct dep_table last_threads;	/* struct dep_last_thread, sorted by serial */
	struct dep_last last;		/* without its table of threads */
	bool is_last;			/* recorded with --last */
	struct dep_table serials;	/* serials of processes: struct dep_serial, sorted */
	struct dep_index index;
	struct dep_wire_end end;
	int ended;		/* 1: the last frame is END */
	u64 end_at, end_check;	/* offset of END, and its checksum */
	const u64 *file_size;	/* sizes of end.files segment files; NULL in format 3 */
	u32 first_file;		/* segment files with lower numbers were removed on purpose */
	u64 mark_ns;		/* time of the last MARK, 0: none */
	u64 frames;		/* number of valid frames */
	u64 breaks;		/* places where frames are missing, doubled or out of order */
	u64 bad_bytes;		/* damaged bytes of the log */
	u64 bad_descriptors;	/* number of invalid descriptors in valid frames */
	u64 code_bytes, desc_bytes;
};

/** dep_build_id_add() - add a BUILD_ID frame to a table of struct dep_build_id_row */
int dep_build_id_add(struct dep_table *ids, const struct dep_log_entry *fr);
/** dep_build_id_order() - compare rows by inode, device and path, for qsort() and bsearch() */
int dep_build_id_order(const void *a, const void *b);

/** dep_model_build() - build all tables from a log; @fmt receives its format */
int dep_model_build(struct dep_model *m, const void *log, size_t size, struct dep_format *fmt);
/*
 * The steps of dep_model_build(), for a caller that adds the frames of the log one by one and then
 * calls dep_modules_build().
 */
int dep_model_init(struct dep_model *m);
int dep_model_add(struct dep_model *m, const struct dep_log_entry *e);
void dep_model_free(struct dep_model *m);

/** dep_model_process() - the process with this serial, or NULL */
struct dep_process *dep_model_process(const struct dep_model *m, u32 serial);
/** dep_model_thread() - the thread with this serial, or NULL; the log has them in any order */
const struct dep_thread *dep_model_thread(const struct dep_model *m, u32 serial);

/**
 * dep_modules_build() - fill m->modules, which is empty, from m->map_events (modules.c)
 * @input: size of the log in bytes; limits the memory that is used
 */
int dep_modules_build(struct dep_model *m, u64 input);

#endif
