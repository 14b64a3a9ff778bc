// SPDX-License-Identifier: GPL-2.0-or-later
/* Every byte of every record arrives with any size of the ring; nothing is lost. */
#include "vm.h"

struct process {
	struct session *s;
	u8 *area;
	struct progress *progress;
	u32 first, threads;
	u64 records;
};

struct thread {
	struct process *p;
	u32 slot;
	u64 end;
};

static void *run_thread(void *arg)
{
	struct thread *t = arg;
	struct writer w = {
		.window = t->p->area + t->slot * t->p->s->info.slot_stride,
		.stream = t->slot,
		.records = t->p->records + t->slot % 7,
		.progress = &t->p->progress[t->slot],
	};

	t->end = writer_run(&w);
	return NULL;
}

static int run_process(void *arg)
{
	struct process *p = arg;
	pthread_t id[MAX_SLOTS];
	struct thread t[MAX_SLOTS];
	u32 i;

	p->area = session_enrol(p->s);
	close(p->s->fd);
	for (i = 0; i < p->threads; i++) {
		t[i] = (struct thread){ p, p->first + i, 0 };
		must(!pthread_create(&id[i], NULL, run_thread, &t[i]));
	}
	for (i = 0; i < p->threads; i++)
		must(!pthread_join(id[i], NULL));
	return 0;
}

struct shape {
	u32 chunk_size, nchunks, procs, threads;
	unsigned int delay_us;
	bool waits;		/* must have waited */
	u64 kib;		/* per thread */
};

static void run(const struct shape *h)
{
	u32 n = h->procs * h->threads, i, bad = 0;
	u64 records = h->kib * KIB / 210, lost = 0;
	struct progress *progress = progress_make();
	struct process p[8];
	struct adept_stats st;
	struct consumer c;
	struct session s;
	char name[128];
	pid_t pid[8];
	bool ok;

	snprintf(name, sizeof(name), "%u chunks of %u KiB, %u x %u threads, %lu KiB each%s",
		 h->nchunks, h->chunk_size / KIB, h->procs, h->threads, h->kib,
		 h->delay_us ? ", slow" : "");
	session_make(&s, h->chunk_size, h->nchunks, n, ADEPT_POLICY_WAIT);
	consumer_init(&c, &s);
	c.delay_us = h->delay_us;
	for (i = 0; i < h->procs; i++) {
		p[i] = (struct process){ &s, NULL, progress, i * h->threads, h->threads, records };
		pid[i] = spawn(run_process, &p[i]);
	}
	ok = consumer_until_last(&c, 0, n, 60000);
	for (i = 0; i < h->procs; i++) {
		if (!ok)
			kill(pid[i], SIGKILL);
		bad += wait_for(pid[i]) != 0;
	}
	for (i = 0; i < n; i++) {
		lost += c.st[i].lost_chunks;
		if (ok && c.st[i].next != records + i % 7) {
			snprintf(c.error, sizeof(c.error), "slot %u: %lu records of %lu", i,
				 c.st[i].next, records + i % 7);
			ok = false;
		}
		if (ok && ring_info(&s, i).state != ADEPT_RING_DEAD)
			bad++;
	}
	st = session_stats(&s);
	if (ok && (bad || lost || st.lost_chunks || st.refused || (h->waits && !st.waits))) {
		snprintf(c.error, sizeof(c.error),
			 "%u bad, lost %lu/%llu, refused %llu, waits %llu", bad, lost,
			 st.lost_chunks, st.refused, st.waits);
		ok = false;
	}
	/* Returned chunks are zero. */
	for (i = 0; ok && i < h->chunk_size; i += 8)
		if (*(u64 *)(s.data + i))
			ok = false;
	for (i = 0; i < n; i++)
		ok = ok && !slot_cmd(&s, ADEPT_IOC_RESET, i, c.st[i].ring, 0);
	ok = ok && !session_stats(&s).pages;
	check(ok, "%s: %lu chunks, %llu waits %s", name, c.chunks, st.waits, ok ? "" : c.error);
	session_close(&s);
	munmap(progress, sizeof(struct progress) * MAX_SLOTS);
}

int main(void)
{
	static const struct shape shapes[] = {
		{ 64 * KIB, 2, 1, 1, 0, false, 2048 },
		{ 64 * KIB, 2, 1, 1, 3000, true, 2048 },
		{ 68 * KIB, 3, 1, 2, 0, false, 1024 },
		{ 64 * KIB, 16, 2, 2, 0, false, 4096 },
		{ 256 * KIB, 2, 1, 3, 0, false, 2048 },
		{ 256 * KIB, 4, 3, 1, 5000, true, 3072 },
		{ 256 * KIB, 8, 2, 3, 0, false, 3072 },
		{ MIB, 2, 1, 2, 0, false, 6144 },
		{ MIB, 4, 1, 4, 0, false, 8192 },
		{ MIB, 16, 1, 1, 0, false, 40960 },
		{ 4 * MIB, 2, 1, 1, 0, false, 16384 },
		{ 64 * KIB, 2, 4, 8, 0, false, 512 },
	};
	u32 i;

	for (i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
		run(&shapes[i]);
	check(counter_becomes("sessions", 0) && !counter("rings") && !counter("pages"),
	      "nothing is left");
	return finish();
}
