/* SPDX-License-Identifier: GPL-2.0-or-later */
/* depctl export: what the writers of all formats share. */
#ifndef DEPCTL_EXPORT_H
#define DEPCTL_EXPORT_H

#include "tools/depctl/common/guesses.h"
#include "tools/depctl/common/output.h"
#include "load.h"

enum export_weight { WEIGHT_INSTRUCTIONS, WEIGHT_CALLS };
enum export_axis { AXIS_TIME, AXIS_INSTRUCTIONS };

/** struct export - the store that is exported, and what of it */
struct export {
	const char *path;
	struct loaded l;
	enum export_weight weight;
	enum export_axis axis;
	uint32_t process, thread;	/* only this one, by serial; 0: all */
	const char *function_glob, *module_glob;	/* NULL: all */
	bool *chosen;			/* by index of function; NULL: all are */
	bool others;			/* code of no function is chosen, too */
	struct guesses guesses;		/* in what is exported, with LOAD_CONTEXTS */
	struct out out;
};

#define FORMAT_WEIGHTS	1u	/* --weight=calls is possible */
#define FORMAT_AXES	2u	/* --axis=instructions is possible */
#define FORMAT_BINARY	4u	/* is not written to terminals */
#define FORMAT_GUESSES	8u	/* marks callers at an attach that are guesses */

/** struct export_format - a format; write() puts it to x->out: 0, or 1 after a message */
struct export_format {
	const char *name, *summary;
	unsigned int needs;		/* LOAD_* */
	unsigned int flags;		/* FORMAT_* */
	int (*write)(struct export *x);
};

/** export_chosen() - true if the code of function @f, or of none (NO_FUNCTION), is exported */
static inline bool export_chosen(const struct export *x, uint32_t f)
{
	return !x->chosen || (f == NO_FUNCTION ? x->others : x->chosen[f]);
}

/** export_share() - true if what a thread did in a context is exported; @export: the export */
bool export_share(const void *export, const struct dep_context_share *s);

/** export_choose() - set x->chosen and x->others; return 0, or 1 after a message */
int export_choose(struct export *x);

/** export_module() - true if the file @path is exported */
bool export_module(const struct export *x, const char *path);

int export_callgrind(struct export *x);
int export_folded(struct export *x);
int export_speedscope(struct export *x);
int export_pprof(struct export *x);
int export_chrome(struct export *x);
int export_firefox(struct export *x);
int export_perfetto(struct export *x);
int export_perf_script(struct export *x);
int export_lcov(struct export *x);
int export_drcov(struct export *x);
int export_bolt(struct export *x);
int export_autofdo(struct export *x);
int export_llvm_sample(struct export *x);
int export_llvm_profgen(struct export *x);
int export_gcc_afdo(struct export *x);

#endif
