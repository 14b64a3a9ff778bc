/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Isolation of processes that give up rights: user and group ids, capabilities, user namespace.
 */
#ifndef ADEPT_ENGINE_OS_RIGHTS_H
#define ADEPT_ENGINE_OS_RIGHTS_H

#include "libdep/engine/base/runtime.h"

struct rights {
	u32 uid[4], gid[4];	/* real, effective, saved and file system id */
	u64 permitted;		/* mask of the permitted capabilities */
};

/** rights_begin() - read the thread's ids and capabilities, before a call that can change them */
void rights_begin(struct rights *r);

/**
 * rights_end() - isolate the process if it cannot get back all rights of @before
 *
 * A vfork child is not isolated: it shares the memory of its parent, which keeps its rights.
 */
void rights_end(const struct tls *t, const struct rights *before);

/** rights_new_namespace() - isolate the process after it has entered another user namespace */
void rights_new_namespace(const struct tls *t);

#endif
