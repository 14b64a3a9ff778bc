/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DEPD_PENDING_KERNEL_RULES_H
#define DEPD_PENDING_KERNEL_RULES_H

#include "libdep/abi/types.h"
#include "exec_bpf.h"
#include "daemon/policy/policy.h"

/** exec_rule_compile() - compile @r for the BPF program; @to matches at least what @r matches */
void exec_rule_compile(struct exec_rule *to, const struct policy_rule *r);

#endif
