// SPDX-License-Identifier: GPL-2.0-or-later
/* What is known of a process at an attach: sockets, and descriptors in a ring that is too small. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "libdep/inject/attach_facts.h"
#include "libdep/inject/inject.h"

static void parsed(const char *name, const char *line, u64 inode, const char *text)
{
	struct dep_socket s = { 0 };

	assert_true(dep_socket_parse(name, line, &s));
	assert_int_equal(s.inode, inode);
	assert_string_equal(s.text, text);
}

static void refused(const char *name, const char *line)
{
	struct dep_socket s = { 0 };

	assert_false(dep_socket_parse(name, line, &s));
}

static void sockets(void **state)
{
	(void)state;
	parsed("tcp", "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000 "
	       "    0        0 4711 1 0000000000000000 100 0 0 10 0\n", 4711, "tcp 127.0.0.1:8080");
	parsed("tcp", "  12: 0100007F:1F90 0200000A:D431 01 00000000:00000000 00:00000000 00000000 "
	       " 1000        0 99 1\n", 99, "tcp 127.0.0.1:8080 -> 10.0.0.2:54321");
	parsed("udp6", "   1: 00000000000000000000000001000000:0035 0000000000000000000000000000000"
	       "0:0000 07 00000000:00000000 00:00000000 00000000     0        0 7 2\n", 7,
	       "udp [::1]:53");
	parsed("unix", "ffff8880: 00000002 00000000 00010000 0001 01 1234 /run/a b\n", 1234,
	       "unix /run/a b");
	parsed("unix", "ffff8880: 00000003 00000000 00000000 0001 03 1235\n", 1235, "unix");
	/* No socket: the line of titles, no inode, an address of no known size. */
	refused("tcp", "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when\n");
	refused("unix", "Num       RefCount Protocol Flags    Type St Inode Path\n");
	refused("tcp", "   0: 0100007F:1F90 0200000A:D431 06 00000000:00000000 03:00000000 "
		"00000000     0        0 0 3\n");
	refused("tcp", "   0: 01007F:1F90 0200000A:D431 06 00000000:00000000 03:00000000 00000000 "
		"    0        0 5 3\n");
	refused("tcp", "");
}

/* The descriptors of a ring: whole, of known types, the first one of the attach. */
static u32 count(const u8 *ring, u32 n, u32 type)
{
	struct adept_desc h;
	u32 at, found = 0;

	for (at = 0; at < n; at += h.size) {
		memcpy(&h, ring + at, sizeof(h));
		assert_true(h.size >= sizeof(h) && h.size % 8 == 0 && h.size <= n - at);
		assert_int_equal(h.type == ADEPT_DESC_ATTACH, !at);
		found += h.type == type;
	}
	assert_int_equal(at, n);
	return found;
}

static void facts(void **state)
{
	static u8 ring[1u << 20] __attribute__((aligned(8)));
	int proc = dep_proc_open(getpid());
	struct adept_desc_attach a;
	u32 n, maps, files;

	(void)state;
	assert_true(proc >= 0);
	n = dep_facts_write(ring, sizeof(ring), proc);
	memcpy(&a, ring, sizeof(a));
	maps = count(ring, n, ADEPT_DESC_MAP);
	files = count(ring, n, ADEPT_DESC_FILE);
	assert_int_equal(a.maps_left_out + a.files_left_out, 0);
	assert_true(maps > 5 && files >= 4);
	/* In a page not all of them have room: they are counted, and nothing is behind it. */
	memset(ring, 0xee, sizeof(ring));
	n = dep_facts_write(ring, 4096, proc);
	assert_true(n <= 3072);
	assert_int_equal(ring[3072], 0xee);
	memcpy(&a, ring, sizeof(a));
	assert_true(a.maps_left_out > 0);
	assert_int_equal(count(ring, n, ADEPT_DESC_MAP) + a.maps_left_out, maps);
	assert_int_equal(count(ring, n, ADEPT_DESC_FILE) + a.files_left_out, files);
	close(proc);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sockets), cmocka_unit_test(facts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
