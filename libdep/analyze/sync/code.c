// SPDX-License-Identifier: LGPL-2.1-or-later
/* The kind of code at an address (enum dep_code), from the library user's callback; cached. */
#include <stdlib.h>

#include "sync.h"

enum dep_code sync_ask_code(struct sync_events *f, u32 process, u64 pc)
{
	const struct dep_races_options *o = f->options;
	enum dep_code code;

	if (!o->code)
		return DEP_CODE_PROGRAM;
	pthread_mutex_lock(&f->asking);
	code = o->code(o->arg, process, pc);
	pthread_mutex_unlock(&f->asking);
	return code;
}

enum dep_code sync_fill_code(struct sync_events *f, struct sync_image *m, u64 pc)
{
	struct sync_code *c;

	if (!m->code)
		m->code = calloc(SYNC_CODES, sizeof(*m->code));
	if (!m->code)
		return sync_ask_code(f, m->serial, pc);
	c = &m->code[sync_code_slot(pc)];
	c->code = sync_ask_code(f, m->serial, pc);
	c->pc = pc;
	return c->code;
}
