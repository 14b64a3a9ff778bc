/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Add up the changes that instructions make to rsp. */
#ifndef ADEPT_CONTEXTS_RSP_H
#define ADEPT_CONTEXTS_RSP_H

#include "libdep/x86/decode.h"
#include "moves.h"

/** struct dep_rsp - the changes so far; all 0: none */
struct dep_rsp {
	struct dep_rsp_value {
		u8 how;			/* enum dep_rsp_change */
		s64 by;			/* all but DEP_RSP_ALIGN */
		struct dep_align align;	/* DEP_RSP_ALIGN */
	} now, frame;			/* of rsp, of rbp */
	bool framed;			/* @frame is valid: rbp was set to rsp, and a constant */
	bool overwritten;		/* rbp was set to a value that is not known */
	bool from_register;		/* the last change is lea rsp, [register - 8] */
};

/** dep_rsp_frame() - rsp - rbp now, if rbp was set from rsp and both changed alike; false: not */
bool dep_rsp_frame(const struct dep_rsp *r, s64 *distance);

/** dep_rsp_insn() - add the change that the instruction makes, without that of a branch */
void dep_rsp_insn(struct dep_rsp *r, const struct x86_insn *in);

#endif
