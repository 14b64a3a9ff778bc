/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DEPCTL_RECORD_BURST_H
#define DEPCTL_RECORD_BURST_H

#include "record.h"

/**
 * struct burst - the state of a recording in bursts
 * @next_ns:	when to change between recording and pause, by the monotonic clock; 0: never
 * @bursts:	number of bursts so far
 * @failed:	how often a process could not be paused or resumed, and cannot be later
 * @tries:	how often it was to be tried again, for the reason @why
 */
struct burst {
	uint64_t on_ns, off_ns;
	uint64_t next_ns;
	bool paused;
	uint32_t bursts, failed, tries;
	struct dep_why why;
};

/** burst_parse() - parse the argument of --burst; exits with a usage error if it is wrong */
void burst_parse(struct burst *b, const char *arg, struct argp_state *state);
/** burst_begin() - the first burst begins now, if there is to be one */
void burst_begin(struct burst *b);
/**
 * burst_step() - if it is time to, pause or resume all processes of the session
 * @round_ms: the longest time until the next call
 *
 * Return: the time until the next call in milliseconds.
 */
unsigned int burst_step(struct burst *b, const struct record_launch *l, unsigned int round_ms);
/** burst_report() - at the end: print how many bursts there were */
void burst_report(const struct burst *b);

#endif
