/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a store has of the moment at which a process was attached to: attach_info.c collects it,
 * attach_print.c prints it.
 */
#ifndef DEPCTL_STORE_ATTACH_INFO_H
#define DEPCTL_STORE_ATTACH_INFO_H

#include <dep/recover.h>
#include <dep/symbols.h>

#include "tools/depctl/depctl.h"
#include "tools/depctl/common/output.h"

#define ATTACH_STACK	16384u	/* bytes of a stack that are read */

/** struct attach_thread - how a thread came and went */
struct attach_thread {
	const struct dep_thread *thread;
	bool entered, left;	/* @attach, @detach are known */
	struct adept_ev_attach attach;
	struct adept_ev_detach detach;
	size_t nframes;
	struct dep_stack_frame frame[DEP_STACK_FRAMES];
};

struct attach_info {
	const char *path;
	bool json;
	struct dep_store *store;
	struct dep_symbols *symbols;
	struct out out;
	struct json j;
};

/** attach_thread_read() - read what the store has of @t->thread; 0, or an error with a message */
int attach_thread_read(struct attach_info *f, struct attach_thread *t);

/** attach_info() - depctl info --attach: print all of a store; return the exit status */
int attach_info(const char *path, bool json);

/* attach_print.c */
void attach_print_process(struct attach_info *f, const struct dep_attach *a);
void attach_print_thread(struct attach_info *f, const struct attach_thread *t);
void attach_print_files(struct attach_info *f, const struct dep_attach *a);

#endif
