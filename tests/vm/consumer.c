// SPDX-License-Identifier: GPL-2.0-or-later
/* Sessions, and a consumer that checks every byte of every record. */
#include <stdarg.h>

#include "vm.h"

/* ---- sessions ---- */

int session_try(struct session *s, const struct adept_session_create *c)
{
	int dev = open("/dev/adept", O_RDWR | O_CLOEXEC), fd;

	if (dev < 0)
		return -errno;
	memset(s, 0, sizeof(*s));
	fd = ioctl(dev, ADEPT_IOC_SESSION_CREATE, c);
	if (fd < 0)
		fd = -errno;
	close(dev);
	if (fd >= 0)
		session_fd(s, fd);
	return fd;
}

void session_fd(struct session *s, int fd)
{
	memset(s, 0, sizeof(*s));
	s->fd = fd;
	must(!ioctl(fd, ADEPT_IOC_SESSION_INFO, &s->info));
}

int device_call(unsigned long cmd, void *arg)
{
	int dev = open("/dev/adept", O_RDWR | O_CLOEXEC), ret;

	must(dev >= 0);
	ret = ioctl(dev, cmd, arg);
	if (ret < 0)
		ret = -errno;
	close(dev);
	return ret;
}

void session_make(struct session *s, u32 chunk_size, u32 nchunks, u32 nslots, u32 policy)
{
	struct adept_session_create c = {
		.version = ADEPT_ABI_VERSION, .chunk_size = chunk_size, .nchunks = nchunks,
		.nslots = nslots, .policy = policy,
	};

	errno = -session_try(s, &c);
	must(s->fd > 0);
	session_view(s);
}

void session_view(struct session *s)
{
	s->data = mmap(NULL, s->info.area_size, PROT_READ, MAP_SHARED, s->fd, s->info.data_off);
	must(s->data != MAP_FAILED);
	s->chunk_info = mmap(NULL, s->info.info_size, PROT_READ, MAP_SHARED, s->fd,
			     s->info.info_off);
	must(s->chunk_info != MAP_FAILED);
}

void session_close(struct session *s)
{
	if (s->data) {
		munmap(s->data, s->info.area_size);
		munmap(s->chunk_info, s->info.info_size);
	}
	close(s->fd);
	memset(s, 0, sizeof(*s));
	s->fd = -1;
}

struct adept_stats session_stats(const struct session *s)
{
	struct adept_stats st;

	must(!ioctl(s->fd, ADEPT_IOC_STATS, &st));
	return st;
}

struct adept_ring_info ring_info(const struct session *s, u32 slot)
{
	struct adept_ring_info i = { .slot = slot };

	must(!ioctl(s->fd, ADEPT_IOC_RING_INFO, &i));
	return i;
}

int slot_cmd(const struct session *s, unsigned long cmd, u32 slot, u32 ring, u32 flags)
{
	struct adept_slot_cmd c = { .slot = slot, .ring = ring, .flags = flags };

	return ioctl(s->fd, cmd, &c) ? -errno : 0;
}

u8 *session_enrol(const struct session *s)
{
	char path[64];
	u8 *area;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", s->fd);
	fd = open(path, O_RDWR | O_CLOEXEC);
	must(fd >= 0);
	area = mmap(NULL, s->info.area_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	must(area != MAP_FAILED);
	close(fd);
	return area;
}

int do_exchange(const struct session *s, struct adept_exchange *x)
{
	return ioctl(s->fd, ADEPT_IOC_EXCHANGE, x) ? -errno : 0;
}

/* ---- checking ---- */

static bool by_ioctl(struct consumer *c, struct adept_exchange *x)
{
	return !do_exchange(c->s, x);
}

void consumer_init(struct consumer *c, struct session *s)
{
	u32 i;

	memset(c, 0, sizeof(*c));
	c->s = s;
	c->exchange = by_ioctl;
	for (i = 0; i < MAX_SLOTS; i++)
		c->st[i].stream = i;
}

__attribute__((format(printf, 3, 4)))
static bool wrong(struct consumer *c, const struct adept_desc *d, const char *fmt, ...)
{
	int n = snprintf(c->error, sizeof(c->error), "slot %u ring %u seq %llu: ", d->slot, d->ring,
			 d->seq);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(c->error + n, sizeof(c->error) - n, fmt, ap);
	va_end(ap);
	return false;
}

/* One record at @p of at most @room bytes; its length, 0: none, -1: wrong. */
static int check_record(struct consumer *c, const struct adept_desc *d, struct stream_state *st,
			const u8 *p, u32 room)
{
	u32 id, n, i;
	u64 v;

	if (room < 4)
		return 0;
	memcpy(&id, p, 4);
	if (!id)
		return 0;
	n = rec_values(st->stream, st->next);
	if (id != rec_id(st->next, n) || 4 + 8 * n > room)
		return wrong(c, d, "id %#x, not %#x, of record %lu (room %u)", id,
			     rec_id(st->next, n), st->next, room) - 1;
	for (i = 0; i < n; i++) {
		memcpy(&v, p + 4 + 8 * i, 8);
		if (v != rec_value(st->stream, st->next, i))
			return wrong(c, d, "record %lu value %u is %#lx", st->next, i, v) - 1;
	}
	st->next++;
	return 4 + 8 * n;
}

/* After a loss the first value says which record it is; what is missing must add up. */
static bool skip_lost(struct consumer *c, const struct adept_desc *d, struct stream_state *st,
		      const struct adept_chunk_info *ci, const u8 *body)
{
	u64 k, bytes = 0;

	if (d->seq - st->seq != ci->lost_chunks)
		return wrong(c, d, "expected seq %lu, lost_chunks %llu", st->seq, ci->lost_chunks);
	if (d->lost_bytes != ci->lost_bytes || d->loss_causes != ci->loss_causes ||
	    !ci->lost_chunks != !ci->loss_causes)
		return wrong(c, d, "losses do not agree");
	st->lost_chunks += ci->lost_chunks;
	if (!ci->lost_chunks)
		return true;
	/* regs[12]: the record that was begun when the chunk was */
	k = ci->head.regs[12];
	if (!(d->flags & ADEPT_CHUNK_UNFINISHED)) {
		u64 first;

		memcpy(&first, body + 4, 8);
		if (first != k)
			return wrong(c, d, "begins with record %lu, its head says %lu", first, k);
	}
	for (; st->next < k; st->next++, st->lost_records++)
		bytes += rec_bytes(st->stream, st->next);
	if (st->next != k || bytes != ci->lost_bytes)
		return wrong(c, d, "lost %lu bytes up to record %lu, counted %llu", bytes, k,
			     ci->lost_bytes);
	st->lost_bytes += bytes;
	return true;
}

static bool check_context(struct consumer *c, const struct adept_desc *d,
			  const struct adept_context *x, const char *which, u64 record)
{
	u32 i;

	if (!(x->flags & ADEPT_CTX_VALID) || !(x->flags & ADEPT_CTX_GS_WORDS))
		return wrong(c, d, "%s: flags %#x", which, x->flags);
	if (x->regs[12] != record)
		return wrong(c, d, "%s: of record %llu, not %lu", which, x->regs[12], record);
	for (i = 1; i < 8; i++)
		if (!x->gs_words[i] || x->gs_words[i] == x->gs_words[i - 1])
			return wrong(c, d, "%s: words at gs make no sense", which);
	if (!x->fs_base || !x->rip || !(x->rflags & 2) || !x->clock_ns)
		return wrong(c, d, "%s: registers make no sense", which);
	return true;
}

static bool check_info(struct consumer *c, const struct adept_desc *d, struct stream_state *st,
		       const struct adept_chunk_info *ci, u64 first)
{
	bool unfinished = d->flags & ADEPT_CHUNK_UNFINISHED;

	if (ci->seq != d->seq || ci->ring != d->ring || ci->end != d->end ||
	    ci->flags != d->flags || ci->end > c->s->info.chunk_size)
		return wrong(c, d, "descriptor and info do not agree");
	if (!check_context(c, d, &ci->head, "head", first))
		return false;
	if (st->chunks && !ci->lost_chunks && memcmp(&st->tail, &ci->head, sizeof(st->tail)))
		return wrong(c, d, "head is not the tail of the chunk before");
	if (unfinished)
		return ci->end == c->s->info.chunk_size ||
		       wrong(c, d, "unfinished, end %u", ci->end);
	if (ci->tail.record_at != ci->end || ci->tail.fault_at < c->s->info.chunk_size ||
	    ci->tail.regs[15] % 4096 != ci->end % 4096)
		return wrong(c, d, "tail: record at %u, fault at %u, r15 %#llx", ci->tail.record_at,
			     ci->tail.fault_at, ci->tail.regs[15]);
	st->tail = ci->tail;
	return check_context(c, d, &ci->tail, "tail", st->next);
}

static bool open_stream(struct consumer *c, const struct adept_desc *d, struct stream_state *st)
{
	u64 stream = st->stream;

	if (st->open && d->ring == st->ring)
		return true;
	if (st->open && !st->last_flags)
		return wrong(c, d, "another ring before the end of %u", st->ring);
	if (d->ring < st->ring)
		return wrong(c, d, "an old ring, %u is known", st->ring);
	memset(st, 0, sizeof(*st));
	st->stream = stream;
	st->ring = d->ring;
	st->open = true;
	return true;
}

static bool check_chunk(struct consumer *c, const struct adept_desc *d)
{
	const struct adept_session_info *si = &c->s->info;
	const u8 *body = c->s->data + d->slot * si->slot_stride + d->chunk * si->chunk_stride;
	const struct adept_chunk_info *ci = (void *)(c->s->chunk_info + d->slot * si->info_stride);
	struct stream_state *st;
	u32 at = 0;
	u64 first;
	int n;

	if (d->slot >= si->nslots || d->slot >= MAX_SLOTS || d->chunk >= si->nchunks ||
	    d->end > si->chunk_size)
		return wrong(c, d, "no such chunk");
	ci += d->chunk;
	st = &c->st[d->slot];
	if (!open_stream(c, d, st))
		return false;
	if (st->last_flags)
		return wrong(c, d, "after the last one");
	if (!skip_lost(c, d, st, ci, body))
		return false;
	first = st->next;
	for (; at < d->end; at += n) {
		n = check_record(c, d, st, body + at, d->end - at);
		if (n < 0)
			return false;
		if (!n)
			break;
	}
	if (at != d->end && !(d->flags & ADEPT_CHUNK_UNFINISHED))
		return wrong(c, d, "ends at %u, not %u", at, d->end);
	if (!check_info(c, d, st, ci, first))
		return false;
	st->seq = d->seq + 1;
	st->bytes += at;
	st->chunks++;
	if (d->flags & ADEPT_CHUNK_LAST)
		st->last_flags = d->flags;
	c->chunks++;
	c->again += !!(d->flags & ADEPT_CHUNK_AGAIN);
	return true;
}

int consumer_step(struct consumer *c)
{
	struct adept_desc d[24];
	struct adept_give g[24];
	struct adept_exchange x = { .take = (u64)d, .ntake = 24 };
	u32 i, n;

	if (!c->exchange(c, &x)) {
		snprintf(c->error, sizeof(c->error), "taking: %s", strerror(errno));
		return -1;
	}
	n = x.taken;
	for (i = 0; i < n; i++) {
		if (!check_chunk(c, &d[i]))
			return -1;
		g[i] = (struct adept_give){ .slot = d[i].slot, .ring = d[i].ring, .seq = d[i].seq };
		if (c->delay_us)
			usleep(c->delay_us);
	}
	x = (struct adept_exchange){ .give = (u64)g, .ngive = n };
	if (n && (!c->exchange(c, &x) || x.given != n)) {
		snprintf(c->error, sizeof(c->error), "given %u of %u: %s", x.given, n,
			 strerror(x.give_error));
		return -1;
	}
	return n;
}

bool consumer_drain(struct consumer *c)
{
	int n;

	do
		n = consumer_step(c);
	while (n > 0);
	return !n;
}

bool consumer_until_last(struct consumer *c, u32 first, u32 n, unsigned int ms)
{
	u64 end = now_ns() + ms * 1000000ull;
	u32 i, left;

	for (;;) {
		struct pollfd p = { .fd = c->s->fd, .events = POLLIN };

		if (!consumer_drain(c))
			return false;
		for (i = first, left = 0; i < first + n; i++)
			left += !c->st[i].last_flags;
		if (!left)
			return true;
		if (now_ns() > end) {
			snprintf(c->error, sizeof(c->error), "%u streams did not end", left);
			return false;
		}
		poll(&p, 1, 200);
	}
}
