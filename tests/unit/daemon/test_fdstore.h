/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by test_fdstore.c, test_fdstore_clients.c and fdstore_helpers.c. */
#ifndef TESTS_UNIT_DAEMON_TEST_FDSTORE_H
#define TESTS_UNIT_DAEMON_TEST_FDSTORE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <cmocka.h>

#include "daemon/fdstore/fdstore.h"
#include "daemon/fdstore/holder.h"

/* The directory of the fd store; a message of fdstore_open(). */
extern char dir[], why[512];

int setup(void **state);
int teardown(void **state);

/** memory() - a new descriptor with @text */
int memory(const char *text);
void assert_text(int fd, const char *text);
/** open_keep() - open the fd store; the caller frees what it has with free_kept() */
struct fdstore *open_keep(struct fdstore_entry **kept, size_t *n);
struct fdstore *open_empty(void);
void put(struct fdstore *k, const char *name, const char *text);
void free_kept(struct fdstore_entry *kept, size_t n);
/** holder() - pid of the holder, which this process adopts; 0: there is none */
pid_t holder(void);
/** holder_ends() - does the holder end within @ms milliseconds? */
bool holder_ends(unsigned int ms);
/** killed() - run @what in a process that then kills itself, unless it is killed before */
void killed(void (*what)(void));

/* The tests in test_fdstore_clients.c. */
void foreign_user(void **state);
void clients_that_die(void **state);

#endif
