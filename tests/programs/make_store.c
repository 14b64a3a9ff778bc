// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * make_store DIR [gap|unclean|drop|signal|unseen|old|old-gap|old-unclean]: a small store with one
 * thread and nothing but events in it, for tests of the command line that need no engine.  Those
 * that are old have format 3.
 */
#include <stdio.h>
#include <string.h>

#include <dep/store.h>

#include "tests/unit/lib/close_writer.h"
#include "tests/unit/format/old_store.h"
#include "libdep/abi/stream.h"
#include "libdep/abi/session_file.h"

static u8 body[1024];
static u32 fill;

static void put(u32 id, const void *payload, u32 size)
{
	memcpy(body + fill, &id, 4);
	memcpy(body + fill + 4, payload, size);
	fill += 4 + size;
}

static void make_body(u64 pc)
{
	struct adept_ev_context ctx = { .pc = pc, .fs_base = 0x7000 };
	struct adept_ev_syscall sys = { .nr = 39, .result = 1234 };
	struct adept_ev_fork child = { .pid = 101, .flags = 0x11 };

	fill = 0;
	put(ADEPT_EV_CONTEXT, &ctx, sizeof(ctx));
	put(ADEPT_EV_SYSCALL, &sys, sizeof(sys));
	put(ADEPT_EV_FORK, &child, sizeof(child));
}

int main(int argc, char **argv)
{
	const char *how = argc > 2 ? argv[2] : "";
	char *command[] = { "prog", "a \"b\"", NULL };
	struct dep_meta meta = {
		.argc = 2, .argv = command, .cwd = "/tmp", .chunk_size = 1 << 20, .nchunks = 4,
		.start_ns = 1000000000, .start_realtime_ns = 1700000000000000000ull, .aslr = 1,
		.session_flags = strcmp(how, "drop") ? 0 : ADEPT_S_DROP,
	};
	struct dep_process p = { .serial = 1, .pid = 100, .start_ns = 1000000000,
				 .exe = "/bin/prog" };
	struct dep_thread t = { .serial = 2, .tid = 100, .process = 1, .start_ns = 1000000000 };
	struct adept_chunk k = { .fs_base = 0x7000 };
	struct dep_loss loss = { 0 };
	struct dep_writer *w;
	bool old = !strncmp(how, "old", 3);
	int i, err;

	if (argc < 2)
		return 2;
	if (old)
		how += how[3] ? 4 : 3;
	err = dep_writer_create(&w, argv[1], &meta, 0);
	if (!err)
		err = dep_writer_process(w, &p);
	if (!err)
		err = dep_writer_thread(w, &t);
	for (i = 0; i < 2 && !err; i++) {
		make_body(0x401000 + i);
		k.seq = i;
		if (i && (!strcmp(how, "gap") || !strcmp(how, "drop")))
			k.seq += 3;
		k.fill = fill;
		k.tail_at = fill;
		err = dep_writer_segment(w, 2, &k, body);
		/* What the context event said is what the next one begins with. */
		k.head.frag = 0;
	}
	t.end_ns = 2000000000;
	t.flushes = 2;
	t.end = strcmp(how, "unseen") ? DEP_END_WHOLE : DEP_END_UNFINISHED;
	if (!err)
		err = dep_writer_thread_end(w, &t);
	p.end_ns = 2500000000;
	if (!err)
		err = dep_writer_process_end(w, &p);
	if (!err)
		err = dep_writer_message(w, "a note");
	if (!strcmp(how, "drop")) {
		loss.dropped_chunks = 3;
		loss.dropped_bytes = 3 << 20;
	}
	if (!err && !strcmp(how, "unclean"))
		dep_writer_discard(w);
	else if (!err)
		err = close_writer(w, &loss, strcmp(how, "signal") ? 3 << 8 : 11);
	if (err)
		fprintf(stderr, "make_store: %s\n", dep_error());
	else if (old)
		err = old_store(argv[1], false);
	return err ? 1 : 0;
}
