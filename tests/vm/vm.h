/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Synthetic writers and consumers for the tests of adept.ko.
 *
 * A record is [id : 32] [value : 64] * n, n from 1 to 479, written like the engine
 * does: values upwards, the id last, all through r15.  Record k of a stream is known
 * from (stream, k): its length, and each value; the first value is k.  So a consumer
 * checks every byte, and knows what a loss must amount to.
 *
 * Everything here is compiled with -ffixed-r15.
 */
#ifndef ADEPT_TEST_VM_H
#define ADEPT_TEST_VM_H

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <linux/adept.h>

typedef uint8_t u8;
typedef uint32_t u32;
typedef uint64_t u64;

#define KIB	1024u
#define MIB	(1024u * KIB)
#define MAX_SLOTS 64

/* ---- reporting, as tests/lib.sh does ---- */

extern int passed, failed, skipped;
void pass(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void skip(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* A check that ends the program, since later checks would be meaningless. */
#define must(cond) do { if (!(cond)) die(__FILE__, __LINE__, #cond); } while (0)
void die(const char *file, int line, const char *what) __attribute__((noreturn));
/* check(cond, ...): one test */
#define check(cond, ...) ((cond) ? pass(__VA_ARGS__) : fail(__VA_ARGS__))
int finish(void);
u64 now_ns(void);
void sleep_ms(unsigned int ms);
/* counter() - a number of /sys/class/misc/adept, or of a parameter of the module */
long counter(const char *name);
void set_param(const char *name, long value);
long param(const char *name);
/* wait some seconds until counter @name is @value */
bool counter_becomes(const char *name, long value);

/* ---- streams ---- */

u32 rec_values(u64 stream, u64 k);
u64 rec_value(u64 stream, u64 k, u32 i);
static inline u32 rec_bytes(u64 stream, u64 k)
{
	return 4 + 8 * rec_values(stream, k);
}
static inline u32 rec_id(u64 k, u32 n)
{
	return 0x80000000u | n << 16 | (k & 0xffff);
}

/* ---- sessions ---- */

struct session {
	int fd;				/* the consumer's */
	struct adept_session_info info;
	u8 *data;			/* views, NULL until session_view() */
	u8 *chunk_info;
};

/* an ioctl of /dev/adept: returns its result, or -errno */
int device_call(unsigned long cmd, void *arg);
/* @c may be NULL */
void session_make(struct session *s, u32 chunk_size, u32 nchunks, u32 nslots, u32 policy);
int session_try(struct session *s, const struct adept_session_create *c);
void session_fd(struct session *s, int fd);
void session_view(struct session *s);
void session_close(struct session *s);
struct adept_stats session_stats(const struct session *s);
struct adept_ring_info ring_info(const struct session *s, u32 slot);
int slot_cmd(const struct session *s, unsigned long cmd, u32 slot, u32 ring, u32 flags);
u8 *session_enrol(const struct session *s);	/* as a writer: map the area */

/* ---- writers ---- */

/* One word per slot, shared by writer and tests across fork. */
struct progress {
	volatile u64 done;		/* whole records */
	volatile u32 ended;
	volatile u32 go;		/* 1: end */
	volatile u32 started;
	u32 pad[3];
};
struct progress *progress_make(void);	/* MAX_SLOTS of them */

struct writer {
	u8 *window;			/* start of the slot */
	u64 stream;
	u64 records;			/* number of records; 0: until go is set */
	struct progress *progress;
	u64 gs[8];			/* values at gs */
};

/* Run in the calling thread; returns r15 at the end. */
u64 writer_run(struct writer *w);
/* A writer in a separate process. */
struct job {
	struct session *s;
	struct progress *progress;	/* of all slots */
	u32 slot;
	u64 records;			/* of the stream of the slot's number */
};
int job_run(void *arg);			/* a struct job; for spawn() */
/* Single stores through r15, for tests of single faults; returns r15 afterwards. */
u64 store_r15(u64 r15, u64 off, u64 value);
/* A store that uses another base register. */
void store_plain(u64 addr, u64 value);

/* ---- the checking consumer ---- */

struct stream_state {
	u64 stream;			/* number of the stream in slot k */
	u32 ring;
	bool open;
	u64 next;			/* record expected */
	u64 seq;			/* chunk expected */
	u64 lost_records, lost_bytes, lost_chunks;
	u64 bytes;
	u64 chunks;
	u32 last_flags;			/* of the chunk with LAST, 0: not yet */
	struct adept_context tail;
};

struct consumer {
	struct session *s;
	struct stream_state st[MAX_SLOTS];
	u64 chunks, again;
	unsigned int delay_us;		/* delay per chunk, for a slow consumer */
	bool (*exchange)(struct consumer *c, struct adept_exchange *x);
	void *arg;
	char error[256];
};

void consumer_init(struct consumer *c, struct session *s);
/*
 * One exchange: return pending chunks, take, check.  Returns the number of chunks, or -1 on error.
 */
int consumer_step(struct consumer *c);
/* Take all available chunks. */
bool consumer_drain(struct consumer *c);
/* Run until @slots have delivered their last chunks, or for @ms. */
bool consumer_until_last(struct consumer *c, u32 first, u32 n, unsigned int ms);
int do_exchange(const struct session *s, struct adept_exchange *x);

/* ---- processes ---- */

/* fork(); the child runs @fn and exits with its result. */
pid_t spawn(int (*fn)(void *), void *arg);
int wait_for(pid_t pid);		/* exit status, or 128 + signal */
/* Run @fn in a child and return the signal that killed it, or 0. */
int dies_by(int (*fn)(void *), void *arg);

#endif
