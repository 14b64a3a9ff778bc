// SPDX-License-Identifier: GPL-2.0-or-later
/* A consumer goes, another one comes; and who is not let in. */
#include <sys/stat.h>

#include "vm.h"

static struct progress *progress;

static struct adept_session_create config = {
	.version = ADEPT_ABI_VERSION, .chunk_size = 64 * KIB, .nchunks = 4, .nslots = 3,
	.orphan_wait_ms = 60000, .orphan_keep_ms = 60000, .label = "a test",
};

static void make(struct session *s)
{
	progress = progress_make();
	errno = -session_try(s, &config);
	must(s->fd >= 0);
	session_view(s);
}

static pid_t start(struct session *s, u32 slot, u64 records)
{
	static struct job j;
	pid_t pid;

	j = (struct job){ s, progress, slot, records };
	pid = spawn(job_run, &j);
	while (!progress[slot].started)
		sleep_ms(1);
	return pid;
}

static int adopt(u64 id)
{
	struct adept_session_adopt a = { .id = id };

	return device_call(ADEPT_IOC_SESSION_ADOPT, &a);
}

static int list(struct adept_session_info *i, u32 room)
{
	struct adept_session_list l = { .sessions = (u64)i, .room = room };

	must(!device_call(ADEPT_IOC_SESSION_LIST, &l));
	return l.count;
}

static bool in_list(u64 id, struct adept_session_info *found)
{
	struct adept_session_info i[16];
	int n = list(i, 16);

	while (n--)
		if (i[n].id == id) {
			*found = i[n];
			return true;
		}
	return false;
}

/* Take @n chunks and give none back. */
static u32 grab(struct session *s, u32 n)
{
	struct adept_desc d[16];
	struct adept_exchange x = { .take = (u64)d, .ntake = n };

	must(!do_exchange(s, &x));
	return x.taken;
}

static void nothing_lost(void)
{
	struct adept_session_info i = { 0 };
	struct session s, t;
	struct consumer c;
	pid_t pid[3];
	u32 k, held;
	u64 id;
	bool ok;

	make(&s);
	id = s.info.id;
	for (k = 0; k < 3; k++)
		pid[k] = start(&s, k, 6000 + k);
	while (!ring_info(&s, 0).waiting || !ring_info(&s, 1).waiting)
		sleep_ms(1);
	held = grab(&s, 5);
	check(adopt(id) == -EBUSY, "a session that has a consumer cannot be adopted");
	session_close(&s);
	check(in_list(id, &i) && i.state == ADEPT_SESSION_ORPHAN && i.writers == 3 &&
	      i.unread >= 6 && !strcmp((char *)i.label, "a test") && counter("orphans") == 1,
	      "an orphan is listed, with %u unread chunks", i.unread);
	session_fd(&t, adopt(id));
	session_view(&t);
	consumer_init(&c, &t);
	ok = consumer_until_last(&c, 0, 3, 30000);
	for (k = 0; k < 3; k++)
		ok = ok && !wait_for(pid[k]) && c.st[k].next == 6000 + k && !c.st[k].lost_chunks;
	check(ok && c.again == held,
	      "adopted: all records are there, %lu of %u chunks once more %s", c.again, held,
	      ok ? "" : c.error);
	check(adopt(id + 1000) == -ENOENT, "no such session");
	/* Nothing left: gone at once. */
	session_close(&t);
	check(counter_becomes("sessions", 0) && adopt(id) == -ENOENT && !counter("orphans"),
	      "an orphan without writers and chunks goes");
}

/* Dead rings alone keep it, too. */
static void only_chunks_left(void)
{
	struct session s, t;
	struct consumer c;
	pid_t pid;
	u64 id;

	make(&s);
	id = s.info.id;
	pid = start(&s, 0, 400);
	must(!wait_for(pid));
	session_close(&s);
	session_fd(&t, adopt(id));
	session_view(&t);
	consumer_init(&c, &t);
	check(consumer_until_last(&c, 0, 1, 1000) && c.st[0].next == 400,
	      "the chunks of a process that is gone %s", c.error);
	session_close(&t);
	must(counter_becomes("sessions", 0));
}

static void wait_then_drop(void)
{
	struct adept_session_create old = config;
	struct adept_stats st;
	struct session s, t;
	struct consumer c;
	pid_t pid;
	u64 id, done, began;
	bool ok;

	config.orphan_wait_ms = 700;
	make(&s);
	id = s.info.id;
	pid = start(&s, 0, 0);
	while (!ring_info(&s, 0).waiting)
		sleep_ms(1);
	began = now_ns();
	session_close(&s);
	done = progress[0].done;
	sleep_ms(100);
	ok = progress[0].done == done;
	while (progress[0].done < done + 1000)
		sleep_ms(1);
	check(ok && now_ns() - began > 600000000ull, "without a consumer a writer waits its time");
	session_fd(&t, adopt(id));
	session_view(&t);
	consumer_init(&c, &t);
	ok = consumer_drain(&c);
	progress[0].go = 1;
	ok = ok && consumer_until_last(&c, 0, 1, 10000) && !wait_for(pid);
	st = session_stats(&t);
	check(ok && c.st[0].next == progress[0].done &&
	      c.st[0].lost_chunks == st.lost_no_consumer &&
	      st.lost_no_consumer == st.lost_chunks && st.lost_chunks,
	      "then it goes on, and %llu lost chunks are counted %s", st.lost_chunks,
	      ok ? "" : c.error);
	session_close(&t);
	config = old;
	must(counter_becomes("sessions", 0));
}

static void given_up(void)
{
	struct adept_session_create old = config;
	struct adept_session_info i;
	long max = param("orphan_max_s"), orphans = param("user_orphans");
	struct session s;
	pid_t pid;
	u64 id, done;

	config.orphan_keep_ms = 300;
	make(&s);
	id = s.info.id;
	pid = start(&s, 0, 0);
	must(!wait_for(start(&s, 1, 100)));
	must(counter("rings") == 2);
	session_close(&s);
	check(counter_becomes("orphans", 0) && adopt(id) == -ENOENT,
	      "kept no longer than its time");
	check(counter_becomes("rings", 1), "its dead rings are freed");
	done = progress[0].done;
	while (progress[0].done < done + 3000)
		sleep_ms(1);
	kill(pid, SIGKILL);
	wait_for(pid);
	check(counter_becomes("sessions", 0), "and it goes with its last writer");

	config.orphan_keep_ms = 0;
	make(&s);
	pid = start(&s, 0, 0);
	while (!ring_info(&s, 0).waiting)
		sleep_ms(1);
	session_close(&s);
	done = progress[0].done;
	while (progress[0].done < done + 3000)
		sleep_ms(1);
	pass("a session that is not to be kept lets its writers go on");
	kill(pid, SIGKILL);
	wait_for(pid);
	must(counter_becomes("sessions", 0));

	set_param("orphan_max_s", 1);
	config.orphan_keep_ms = 60000;
	make(&s);
	set_param("orphan_max_s", max);
	check(s.info.orphan_keep_ms == 1000, "the module limits the time");
	id = s.info.id;
	set_param("user_orphans", 0);
	must(!wait_for(start(&s, 0, 100)));
	session_close(&s);
	check(adopt(id) == -ENOENT && !in_list(id, &i), "and the number of orphans");
	set_param("user_orphans", orphans);
	config = old;
	must(counter_becomes("sessions", 0));
}

/* Two at once, again and again: one wins. */
static int try_adopt(void *arg)
{
	int fd = adopt((u64)arg);

	if (fd >= 0)
		sleep_ms(30);
	return fd >= 0 ? 1 : fd == -EBUSY ? 2 : 3;
}

static void race(void)
{
	struct session s;
	pid_t a, b, w;
	u32 i, bad = 0;
	int x, y;
	u64 id;

	make(&s);
	id = s.info.id;
	w = start(&s, 0, 0);
	session_close(&s);
	for (i = 0; i < 30; i++) {
		a = spawn(try_adopt, (void *)id);
		b = spawn(try_adopt, (void *)id);
		x = wait_for(a);
		y = wait_for(b);
		bad += x + y != 3 && x + y != 2;
	}
	check(!bad, "of two adopters at a time one gets it");
	kill(w, SIGKILL);
	wait_for(w);
	must(!(x = adopt(id)) || x > 0);
	close(x);
	/* Unread chunks keep it: consume by throwing it away. */
	session_fd(&s, adopt(id));
	slot_cmd(&s, ADEPT_IOC_RESET, 0, ring_info(&s, 0).ring, ADEPT_RESET_FORCE);
	session_close(&s);
	must(counter_becomes("sessions", 0));
}

/* ---- permission ---- */

struct stranger {
	u64 id;
	int owner;
	int fd;
};

static int as_stranger(void *arg)
{
	struct stranger *o = arg;
	struct adept_session_info i[4];
	struct session own;
	char path[64];
	int fd, bad = 0;

	must(!setgid(65534) && !setuid(65534));
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", o->owner, o->fd);
	fd = open(path, O_RDWR);
	bad |= (fd >= 0 || errno != EACCES) << 0;
	/* by its own inherited descriptor's name it is still another user's file */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", o->fd);
	fd = open(path, O_RDWR);
	bad |= (fd >= 0 || errno != EACCES) << 1;
	fd = open(path, O_RDONLY);
	bad |= (fd >= 0 || errno != EACCES) << 2;
	bad |= (adopt(o->id) != -EPERM) << 3;
	bad |= (list(i, 4) != 0) << 4;
	errno = -session_try(&own, &config);
	bad |= (own.fd < 0 || own.info.uid != 65534) << 5;
	bad |= (list(i, 4) != 1) << 6;
	return bad;
}

static int refused_device(void *arg)
{
	(void)arg;
	must(!setgid(65534) && !setuid(65534));
	return open("/dev/adept", O_RDWR) < 0 && errno == EACCES ? 0 : 1;
}

static void permission(void)
{
	struct adept_exchange x = { 0 };
	struct stranger o;
	struct session s, w;
	void *p;
	int fd, ret;

	make(&s);
	o = (struct stranger){ s.info.id, getpid(), s.fd };
	check(!wait_for(spawn(refused_device, NULL)), "/dev/adept is not for all");
	must(!chmod("/dev/adept", 0666));
	ret = wait_for(spawn(as_stranger, &o));
	check(!ret, "another user gets at nothing (%#x)", ret);
	must(!chmod("/dev/adept", 0660));

	fd = ioctl(s.fd, ADEPT_IOC_WRITER_FD, 0);
	check(fd >= 0 && fcntl(fd, F_GETFD) == FD_CLOEXEC, "a writer's descriptor");
	session_fd(&w, fd);
	check(do_exchange(&w, &x) == -EACCES && slot_cmd(&w, ADEPT_IOC_RESET, 0, 0, 0) == -EACCES &&
	      ioctl(fd, ADEPT_IOC_WRITER_FD, 0) < 0, "it has no consumer's commands");
	p = mmap(NULL, w.info.area_size, PROT_READ, MAP_SHARED, fd, w.info.data_off);
	check(p == MAP_FAILED && errno == EACCES, "nor what others write");
	p = mmap(NULL, w.info.area_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	check(p != MAP_FAILED && munmap(p, w.info.area_size) == 0, "but the writer area");
	close(fd);
	p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, s.fd, s.info.data_off);
	check(p == MAP_FAILED && errno == EPERM, "views cannot be written");
	check(mprotect(s.data, s.info.area_size, PROT_READ | PROT_WRITE) && errno == EACCES,
	      "nor made writable");
	p = mmap(NULL, 8192, PROT_READ, MAP_SHARED, s.fd,
		 s.info.info_off + s.info.info_size - 4096);
	check(p == MAP_FAILED && errno == EINVAL, "nor larger than what they show");
	session_close(&s);
	must(counter_becomes("sessions", 0));
}

int main(void)
{
	nothing_lost();
	only_chunks_left();
	wait_then_drop();
	given_up();
	race();
	permission();
	check(!counter("rings") && !counter("pages"), "nothing is left");
	return finish();
}
