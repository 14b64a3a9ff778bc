// SPDX-License-Identifier: GPL-2.0-or-later
/* The options --last and --last-on-disk: which part of a recording is kept, and where. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>

#include "libdep/collect/collect.h"
#include "tools/depctl/depctl.h"
#include "record.h"

#define DEFAULT_BYTES	(1ull << 30)	/* bound of memory if only a time is given */

static uint64_t memory_size(void)
{
	struct sysinfo si;

	return sysinfo(&si) ? UINT64_MAX : (uint64_t)si.totalram * si.mem_unit;
}

void last_parse(struct record_options *o, const char *arg, struct argp_state *state)
{
	char *text = strdup(arg), *save = NULL, *part;
	unsigned int parts = 0, known = 0;

	if (!text)
		argp_failure(state, EXIT_FAILURE, ENOMEM, "--last");
	o->last_bytes = o->last_ns = 0;
	for (part = strtok_r(text, ",", &save); part; part = strtok_r(NULL, ",", &save)) {
		parts++;
		if (!o->last_ns && parse_time(part, NULL, &o->last_ns))
			known++;
		else if (!o->last_bytes && parse_size(part, &o->last_bytes) && o->last_bytes)
			known++;
	}
	free(text);
	if (!parts || known != parts)
		argp_error(state, "--last must be a size such as 64M, a time such as 30s or 5m, "
			   "or both as in 5m,2G, not '%s'", arg);
	o->last_default = !o->last_bytes;
	if (!o->last_bytes)
		o->last_bytes = DEFAULT_BYTES;
}

void last_check(struct record_options *o, struct argp_state *state)
{
	uint64_t ring = o->ring_size ? o->ring_size : DEP_RING_DEFAULT, most = memory_size();
	char a[16], b[16];

	if (o->last_on_disk && !o->last_bytes)
		argp_error(state, "--last-on-disk needs --last");
	if (!o->last_bytes)
		return;
	if (o->last_bytes < ring)
		argp_error(state, "--last=%s is less than the ring of one thread (%s): use more, "
			   "or a smaller --ring-size", human_size(o->last_bytes, a),
			   human_size(ring, b));
	if (o->last_bytes > most && !o->last_on_disk)
		argp_error(state, "--last keeps records in memory: %s is more than this machine "
			   "has (%s); see --last-on-disk", human_size(o->last_bytes, a),
			   human_size(most, b));
	if (o->transport == TRANSPORT_KMOD)
		argp_error(state, "--last keeps the records of shared memory: it excludes "
			   "--transport=kmod");
	o->transport = TRANSPORT_SHM;
}
