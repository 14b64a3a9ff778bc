/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Doorbells: one futex per session, rung by its recorded processes and by storing
 * threads.  Waiter threads wait for many of them at once (futex_waitv(2)) and make a
 * descriptor readable.
 */
#ifndef DEPD_BASE_WAKEUPS_H
#define DEPD_BASE_WAKEUPS_H

#include <stdint.h>

struct bells;

int wakeups_open(struct bells **b);
void wakeups_close(struct bells *b);
/** wakeups_fd() - readable when one has rung since wakeups_take() */
int wakeups_fd(const struct bells *b);
/**
 * wakeups_add() - listen to @futex
 * @owner: for wakeups_take()
 *
 * Return: a number for wakeups_remove(), or a negative errno.
 */
int wakeups_add(struct bells *b, uint32_t *futex, void *owner);
/** wakeups_remove() - @futex may be unmapped afterwards */
void wakeups_remove(struct bells *b, int n);
/** wakeups_take() - call @rang for each that has rung; of the loop */
void wakeups_take(struct bells *b, void (*rang)(void *owner));

#endif
