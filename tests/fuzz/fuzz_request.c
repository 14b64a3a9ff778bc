// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * libFuzzer target: a line of the control socket.  An accepted request must be within the limits
 * that the rest of depd relies on.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/control/request.h"
#include "libdep/abi/session_file.h"

#define REQUIRE(what) do { if (!(what)) abort(); } while (0)

static void check_triggers(const struct request *r)
{
	const struct adept_triggers *t = &r->triggers;
	uint32_t i, n = 0;

	REQUIRE(r->snapshots <= REQUEST_SNAPSHOTS_MAX && !r->snapshots == !r->last_bytes);
	while (n < ADEPT_TRIGGERS && *t->of[n].glob)
		n++;
	REQUIRE(!n || r->last_bytes);
	for (i = 0; i < ADEPT_TRIGGERS; i++) {
		REQUIRE(memchr(t->of[i].glob, '\0', sizeof(t->of[i].glob)));
		REQUIRE(t->of[i].slow_ns < 1ull << 53);
		/* The engine looks only at the first triggers, up to one that is not used. */
		REQUIRE(i < n || (!*t->of[i].glob && !t->of[i].slow_ns));
	}
	REQUIRE(t->nplaces <= ADEPT_TRIGGER_PLACES && !t->nplaces == !t->inode);
	for (i = 0; i < t->nplaces; i++)
		REQUIRE(t->place[i].number < n && t->place[i].offset < 1ull << 53);
}

static void check_record(const struct request *r)
{
	int i;

	REQUIRE(r->argc > 0 && r->argc <= REQUEST_ARGC_MAX && r->argv[0][0]);
	for (i = 0; i < r->argc; i++)
		REQUIRE(strlen(r->argv[i]) < DEPD_LINE_MAX);
	REQUIRE(!r->argv[r->argc]);
	REQUIRE(r->cwd && r->cwd[0] == '/' && strlen(r->cwd) < 4096);
	REQUIRE(!r->store || (r->store[0] == '/' && strlen(r->store) < 4096));
	REQUIRE(r->level >= 0 && r->level <= 19);
	REQUIRE(!r->ring_size || (r->ring_size >= 65536 && r->ring_size <= 1ull << 30));
	REQUIRE(r->max_size < 1ull << 53);
	REQUIRE(r->transport <= REQUEST_SHM);
	/* all flags except the module's */
	REQUIRE(!(r->flags & ~(0x3bfu | ADEPT_S_LOG_ALL)));
	REQUIRE(!(r->flags & ADEPT_S_NO_RECORD && r->flags & ADEPT_S_LOG_ALL));
	REQUIRE(r->keep_if < DEP_KEEP_IFS && (!r->keep_if || (r->store && !r->attach)));
	check_triggers(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct request r;
	char why[512] = "";
	int ret = request_parse(&r, (const char *)data, size, why, sizeof(why));

	if (ret) {
		REQUIRE(*why && strlen(why) < sizeof(why));
		REQUIRE(ret == -EPROTO || ret == -EINVAL || ret == -EMSGSIZE || ret == -ENOMEM);
		return 0;
	}
	REQUIRE(r.op < REQUEST_OPS && r.status >= 0 && r.status <= 0xffff);
	if (r.op == REQUEST_RECORD)
		check_record(&r);
	if (r.op == REQUEST_LAUNCHED)
		REQUIRE(r.pid > 0 && (!r.why || r.native));
	if (r.op == REQUEST_TRIGGER)
		REQUIRE(r.session && r.count && *r.event && strlen(r.event) < REQUEST_EVENT_MAX);
	request_free(&r);
	return 0;
}
