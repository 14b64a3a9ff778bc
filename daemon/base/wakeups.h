/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Wakeups: wake the event loop from recorded processes and writer threads.
 *
 * Each session has one futex, which its processes and writer threads change and wake.  Waiter
 * threads sleep on up to 100 futexes each (futex_waitv(2)) and make a descriptor readable, which
 * the loop polls.  All functions are called from the loop's thread.
 */
#ifndef DEPD_BASE_WAKEUPS_H
#define DEPD_BASE_WAKEUPS_H

#include <stdint.h>

struct wakeups;

int wakeups_open(struct wakeups **b);
void wakeups_close(struct wakeups *b);
/** wakeups_fd() - get the descriptor that is readable if a futex changed since wakeups_take() */
int wakeups_fd(const struct wakeups *b);
/**
 * wakeups_add() - wait for changes of @futex
 * @owner: argument of wakeups_take()'s callback
 *
 * Return: a number for wakeups_remove(), or a negative errno.
 */
int wakeups_add(struct wakeups *b, uint32_t *futex, void *owner);
/** wakeups_remove() - stop waiting; the caller may unmap the futex afterwards */
void wakeups_remove(struct wakeups *b, int n);
/** wakeups_take() - call @woken for the owner of each futex that has changed */
void wakeups_take(struct wakeups *b, void (*woken)(void *owner));

#endif
