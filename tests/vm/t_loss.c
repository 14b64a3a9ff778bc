// SPDX-License-Identifier: GPL-2.0-or-later
/* Losses are counted exactly, and later chunks can be decoded. */
#include "vm.h"

static u64 stream_bytes(u64 stream, u64 records)
{
	u64 k, sum = 0;

	for (k = 0; k < records; k++)
		sum += rec_bytes(stream, k);
	return sum;
}

/*
 * Data that arrived and data that was counted add up to what was written; @c has taken all of it.
 */
static bool adds_up(struct consumer *c, u32 slot, u64 records, struct adept_stats *st)
{
	struct stream_state *x = &c->st[slot];
	struct adept_ring_info i = ring_info(c->s, slot);

	if (x->next != records || x->bytes + x->lost_bytes != stream_bytes(slot, records) ||
	    i.lost_chunks != x->lost_chunks || i.lost_bytes != x->lost_bytes) {
		snprintf(c->error, sizeof(c->error),
			 "records %lu of %lu, bytes %lu + %lu of %lu, ring says %llu in %llu",
			 x->next, records, x->bytes, x->lost_bytes, stream_bytes(slot, records),
			 i.lost_bytes, i.lost_chunks);
		return false;
	}
	*st = session_stats(c->s);
	return true;
}

static void drop(u32 chunk_size, u32 nchunks, unsigned int delay_us)
{
	struct progress *progress = progress_make();
	struct adept_stats st = { 0 };
	struct consumer c;
	struct session s;
	struct job j[3];
	pid_t pid[3];
	bool ok;
	u64 lost = 0;
	u32 i;

	session_make(&s, chunk_size, nchunks, 3, ADEPT_POLICY_DROP);
	consumer_init(&c, &s);
	c.delay_us = delay_us;
	for (i = 0; i < 3; i++) {
		j[i] = (struct job){ &s, progress, i, 20000 + i };
		pid[i] = spawn(job_run, &j[i]);
	}
	ok = consumer_until_last(&c, 0, 3, 60000);
	for (i = 0; i < 3; i++) {
		must(!wait_for(pid[i]));
		ok = ok && adds_up(&c, i, j[i].records, &st);
		lost += c.st[i].lost_chunks;
	}
	if (ok && (!lost || lost != st.lost_chunks || st.lost_full != lost || st.waits)) {
		snprintf(c.error, sizeof(c.error), "lost %lu, counted %llu (%llu full), waits %llu",
			 lost, st.lost_chunks, st.lost_full, st.waits);
		ok = false;
	}
	check(ok, "drop, %u chunks of %u KiB: %lu chunks arrived, %lu lost %s", nchunks,
	      chunk_size / KIB, c.chunks, lost, ok ? "" : c.error);
	session_close(&s);
}

/*
 * While the consumer has @held chunks, the newest ones of the others arrive: the oldest is dropped,
 * and counted in the next one.
 */
static void newest_stay(u32 held)
{
	struct progress *progress = progress_make();
	struct adept_set_policy p = { ADEPT_POLICY_DROP, 0 };
	struct adept_desc d[4] = { 0 };
	struct adept_exchange x = { .take = (u64)d, .ntake = held };
	struct adept_stats st;
	struct session s;
	struct job j = { &s, progress, 0, 0 };
	u64 last, first;
	bool ok;
	pid_t pid;
	u32 i;

	session_make(&s, 64 * KIB, 4, 1, ADEPT_POLICY_WAIT);
	pid = spawn(job_run, &j);
	while (!ring_info(&s, 0).waiting)
		sleep_ms(1);
	must(!do_exchange(&s, &x) && x.taken == held);
	must(!ioctl(s.fd, ADEPT_IOC_SET_POLICY, &p));
	while (session_stats(&s).lost_chunks < 50)
		sleep_ms(1);
	progress[0].go = 1;
	must(!wait_for(pid));
	st = session_stats(&s);
	last = ring_info(&s, 0).seq;
	first = last - (3 - held);
	x.ntake = 4;
	ok = !do_exchange(&s, &x) && x.taken == 4 - held && d[0].seq == first &&
	     st.lost_chunks == first - held && d[0].lost_bytes == st.lost_bytes &&
	     st.lost_published == (held == 3 ? 0 : st.lost_chunks);
	for (i = 1; ok && i < x.taken; i++)
		ok = d[i].seq == first + i && !d[i].lost_bytes && !d[i].loss_causes;
	check(ok && d[x.taken - 1].flags & ADEPT_CHUNK_LAST,
	      "of 4 chunks, %u in use, %u arrive, from %llu to %lu; %llu lost, %llu of them filled",
	      held, x.taken, d[0].seq, last, st.lost_chunks, st.lost_published);
	session_close(&s);
}

/* A waiting writer continues when the policy changes, and waits again when it is restored. */
static void policy(void)
{
	struct progress *progress = progress_make();
	struct adept_set_policy p = { ADEPT_POLICY_DROP, 0 };
	struct adept_stats st = { 0 };
	struct consumer c;
	struct session s;
	struct job j = { &s, progress, 0, 0 };
	pid_t pid;
	bool ok;
	u64 done, published;

	session_make(&s, 64 * KIB, 2, 1, ADEPT_POLICY_WAIT);
	consumer_init(&c, &s);
	pid = spawn(job_run, &j);
	while (!ring_info(&s, 0).waiting)
		sleep_ms(1);
	done = progress[0].done;
	sleep_ms(50);
	check(progress[0].done == done, "a writer waits for a full ring");
	must(!ioctl(s.fd, ADEPT_IOC_SET_POLICY, &p));
	while (progress[0].done < done + 2000)
		sleep_ms(1);
	pass("it goes on when the policy changes to drop");
	p.policy = ADEPT_POLICY_DISCARD;
	must(!ioctl(s.fd, ADEPT_IOC_SET_POLICY, &p));
	published = session_stats(&s).published;
	done = progress[0].done;
	while (progress[0].done < done + 2000)
		sleep_ms(1);
	st = session_stats(&s);
	check(st.lost_discard > 0 && st.lost_full > 0 && st.published == published,
	      "discard publishes nothing: %llu discarded, %llu full", st.lost_discard,
	      st.lost_full);
	p.policy = ADEPT_POLICY_WAIT;
	must(!ioctl(s.fd, ADEPT_IOC_SET_POLICY, &p));
	while (!ring_info(&s, 0).waiting)
		sleep_ms(1);
	ok = consumer_drain(&c) && consumer_drain(&c);
	progress[0].go = 1;
	ok = ok && consumer_until_last(&c, 0, 1, 10000);
	wait_for(pid);
	ok = ok && adds_up(&c, 0, progress[0].done, &st);
	check(ok && c.st[0].lost_chunks == st.lost_full + st.lost_discard,
	      "back to waiting, all of it adds up %s", ok ? "" : c.error);
	p.policy = ADEPT_POLICY_DISCARD + 1;
	check(ioctl(s.fd, ADEPT_IOC_SET_POLICY, &p) && errno == EINVAL, "no other policy");
	session_close(&s);
}

/* Forced resets count unread chunks. */
static void forced_reset(void)
{
	struct progress *progress = progress_make();
	struct session s;
	struct job j = { &s, progress, 0, 2000 };
	struct adept_stats st;
	u32 ring;

	session_make(&s, 64 * KIB, 16, 1, ADEPT_POLICY_WAIT);
	must(!wait_for(spawn(job_run, &j)));
	ring = ring_info(&s, 0).ring;
	st = session_stats(&s);
	check(slot_cmd(&s, ADEPT_IOC_RESET, 0, ring, 0) == -EBUSY, "unread chunks are kept");
	check(!slot_cmd(&s, ADEPT_IOC_RESET, 0, ring, ADEPT_RESET_FORCE) &&
	      session_stats(&s).lost_reset == st.published,
	      "unless forced, which counts %llu chunks", st.published);
	check(slot_cmd(&s, ADEPT_IOC_RESET, 0, ring, 0) == -ENOENT, "no such ring any more");
	session_close(&s);
}

int main(void)
{
	u32 held;

	for (held = 0; held < 4; held++)
		newest_stay(held);
	drop(64 * KIB, 2, 1000);
	drop(64 * KIB, 5, 3000);
	drop(256 * KIB, 3, 20000);
	policy();
	forced_reset();
	check(counter_becomes("sessions", 0) && !counter("pages"), "nothing is left");
	return finish();
}
