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

int bells_open(struct bells **b);
void bells_close(struct bells *b);
/** bells_fd() - readable when one has rung since bells_take() */
int bells_fd(const struct bells *b);
/**
 * bells_add() - listen to @futex
 * @owner: for bells_take()
 *
 * Return: a number for bells_remove(), or a negative errno.
 */
int bells_add(struct bells *b, uint32_t *futex, void *owner);
/** bells_remove() - @futex may be unmapped afterwards */
void bells_remove(struct bells *b, int n);
/** bells_take() - call @rang for each that has rung; of the loop */
void bells_take(struct bells *b, void (*rang)(void *owner));

#endif
