/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Calls by which a process may give up rights: ids, capabilities, its user namespace.
 */
#ifndef ADEPT_ENGINE_OS_RIGHTS_H
#define ADEPT_ENGINE_OS_RIGHTS_H

#include "libdep/engine/base/runtime.h"

struct rights {
	u32 uid[4], gid[4];	/* real, effective, saved, of files */
	u64 permitted;		/* capabilities */
};

/** rights_begin() - the thread's rights before a call that changes some */
void rights_begin(struct rights *r);

/**
 * rights_end() - isolate the process if it cannot take back all that it had at rights_begin()
 *
 * One that shares its memory with a parent, which keeps its rights, is not isolated: nothing
 * that it could read or steer is out of its reach anyway.
 */
void rights_end(const struct tls *t, const struct rights *before);

/** rights_new_namespace() - it is in another user namespace, with no rights outside of it */
void rights_new_namespace(const struct tls *t);

#endif
