// SPDX-License-Identifier: GPL-2.0-or-later
/* Tracepoints, counters and statistics agree with the events. */
#include "vm.h"

#define TRACING "/sys/kernel/tracing/"

static struct session s;
static struct progress *progress;

static void put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);

	must(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
}

/* Lines of event @name about our session. */
static u64 events(const char *name)
{
	char line[512], event[64], session[64];
	FILE *f = fopen(TRACING "trace", "re");
	u64 n = 0;

	must(f);
	snprintf(event, sizeof(event), " %s: ", name);
	snprintf(session, sizeof(session), "session=%llu ", s.info.id);
	while (fgets(line, sizeof(line), f))
		n += strstr(line, event) && strstr(line, session);
	fclose(f);
	return n;
}

static int write_records(void *arg)
{
	struct writer w = {
		.window = session_enrol(&s), .records = (u64)arg, .progress = progress,
	};

	close(s.fd);
	writer_run(&w);
	return 0;
}

int main(void)
{
	static const char *const names[] = { "published", "consumed", "returned", "lost_chunks",
					     "lost_bytes", "writer_waits" };
	struct adept_set_policy p = { ADEPT_POLICY_DROP, 0 };
	struct adept_stats st;
	struct consumer c;
	long before[6], after[6];
	bool ok;
	u32 i;
	pid_t pid;

	if (access(TRACING "events/adept/enable", W_OK)) {
		skip("no tracefs");
		return finish();
	}
	for (i = 0; i < 6; i++)
		before[i] = counter(names[i]);
	put(TRACING "buffer_size_kb", "8192");
	put(TRACING "trace", "\n");
	put(TRACING "events/adept/enable", "1");
	progress = progress_make();
	session_make(&s, 64 * KIB, 3, 1, ADEPT_POLICY_WAIT);
	consumer_init(&c, &s);
	pid = spawn(write_records, (void *)(u64)8000);
	while (!ring_info(&s, 0).waiting)
		sleep_ms(1);
	must(!ioctl(s.fd, ADEPT_IOC_SET_POLICY, &p));
	while (!session_stats(&s).lost_chunks)
		sleep_ms(1);
	ok = consumer_until_last(&c, 0, 1, 20000) && !wait_for(pid);
	st = session_stats(&s);
	must(!slot_cmd(&s, ADEPT_IOC_RESET, 0, c.st[0].ring, 0));
	put(TRACING "events/adept/enable", "0");
	for (i = 0; i < 6; i++)
		after[i] = counter(names[i]) - before[i];
	check(ok && c.st[0].next == 8000, "a stream with losses while traced %s", c.error);
	check(events("adept_publish") == st.published &&
	      st.published == c.chunks + st.lost_published,
	      "adept_publish: %llu", st.published);
	check(events("adept_take") == st.taken && st.taken == c.chunks, "adept_take: %llu",
	      st.taken);
	check(events("adept_give") == st.given && st.given == c.chunks, "adept_give: %llu",
	      st.given);
	check(events("adept_drop") == st.lost_chunks && st.lost_chunks, "adept_drop: %llu",
	      st.lost_chunks);
	check(events("adept_wait") == st.waits && st.waits, "adept_wait: %llu", st.waits);
	/* live, dead, none; each end of a chunk is a fault, and so is each attempt that waits */
	check(events("adept_ring") == 3 && events("adept_fault") >=
	      st.published - 1 + st.lost_chunks - st.lost_published + st.waits,
	      "adept_ring, adept_fault");
	check(after[0] == (long)st.published && after[1] == (long)st.taken &&
	      after[2] == (long)st.given && after[3] == (long)st.lost_chunks &&
	      after[4] == (long)st.lost_bytes && after[5] == (long)st.waits,
	      "counters in sysfs are the session's");
	check(st.lost_chunks == c.st[0].lost_chunks && st.lost_bytes == c.st[0].lost_bytes &&
	      st.bytes + st.lost_bytes <= c.st[0].bytes + c.st[0].lost_bytes,
	      "statistics are what arrived");
	session_close(&s);
	return finish();
}
