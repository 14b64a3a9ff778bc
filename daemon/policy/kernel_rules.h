/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DEPD_POLICY_KERNEL_RULES_H
#define DEPD_POLICY_KERNEL_RULES_H

#include "libdep/abi/types.h"
#include "policy.h"
#include "daemon/pending/exec_bpf.h"

/** policy_compile() - what the kernel can test of a rule; it fits more than the rule does */
void policy_compile(struct exec_rule *to, const struct policy_rule *r);

#endif
