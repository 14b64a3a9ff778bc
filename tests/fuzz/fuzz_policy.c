// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * libFuzzer target: depd.conf.  An accepted file must be within the limits, be printable and
 * compile.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/pending/kernel_rules.h"

static void check(const struct depd_config *c)
{
	const struct policy_process p = {
		.comm = "comm", .path = "/bin/comm", .exe = "/usr/bin/comm", .cgroup = "/a/b",
		.argv = "comm -a",
	};
	struct exec_rule k;
	char *text = policy_describe(c);

	if (!text || !c->store || c->nrules > POLICY_RULES_MAX || c->workers > 1024)
		abort();
	free(text);
	policy_match(c, &p);
	for (uint32_t i = 0; i < c->nrules; i++) {
		const struct policy_rule *r = &c->rule[i];

		if ((r->last_on_disk && !r->last_bytes) || r->keep_if >= DEP_KEEP_IFS)
			abort();
		if (!r->every || r->level > 19 || r->transport > REQUEST_SHM || !*r->name ||
		    !(r->comm || r->path || r->cgroup || r->argv || r->has_uid))
			abort();
		exec_rule_compile(&k, r);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	FILE *f = size ? fmemopen((void *)(uintptr_t)data, size, "r") : NULL;
	struct depd_config c;
	struct policy_error e;

	if (!f)
		return 0;
	if (!policy_read(&c, f, &e))
		check(&c);
	else if (!*e.text || e.line > size + 1 || e.column > 4097)
		abort();
	policy_free(&c);
	fclose(f);
	return 0;
}
