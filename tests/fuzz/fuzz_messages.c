// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * libFuzzer target: packets between the processes of depd and depctl.
 *
 *	[receiver : 8] [descriptors : 8] [length : 16] bytes ...	once for each packet
 *
 * A length with its highest bit set is followed by fewer bytes: zeros are added up to the size of
 * the receiver's messages.  Whatever comes, no descriptor may be left behind, and what is taken
 * must be within the limits that its handlers rely on.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/front/front.h"
#include "daemon/fdstore/holder.h"
#include "daemon/injector/tracer_msg.h"
#include "tools/depctl/record/recorder.h"

#define REQUIRE(what) do { if (!(what)) abort(); } while (0)
#define FDS_MAX 8

enum { LINK, HOLDER, TRACER, RECORDER, RECEIVERS };

static const size_t message_size[RECEIVERS] = {
	[LINK] = sizeof(struct link_msg), [HOLDER] = sizeof(struct holder_msg),
	[TRACER] = sizeof(struct tracer_msg), [RECORDER] = sizeof(struct recorder_message),
};

static int ends[RECEIVERS][2];
static int null = -1;

/* The front keeps the reports of an instance, and charges its user's account. */
static struct front front;
static struct instance instance = { .front = &front };

/* The front has no BPF program in this test. */
uint64_t exec_watch_missed(const struct exec_watch *w)
{
	(void)w;
	return 0;
}

static void begin(void)
{
	int i;

	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	REQUIRE(null >= 0);
	for (i = 0; i < RECEIVERS; i++)
		REQUIRE(!socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends[i]));
	REQUIRE(!accounts_open(&front.accounts));
	instance.account = account_of(front.accounts, 1000);
	REQUIRE(instance.account);
}

/* The lowest free descriptor, which differs if a descriptor was leaked. */
static int lowest(void)
{
	int fd = dup(null);

	close(fd);
	return fd;
}

static void send_packet(int sock, const void *data, size_t size, int n)
{
	struct iovec v = { (void *)data, size };
	union {
		struct cmsghdr h;
		char room[CMSG_SPACE(FDS_MAX * sizeof(int))];
	} c = { 0 };
	struct msghdr h = { .msg_iov = &v, .msg_iovlen = 1 };
	int i;

	if (n) {
		h.msg_control = &c;
		h.msg_controllen = CMSG_SPACE((size_t)n * sizeof(int));
		c.h.cmsg_level = SOL_SOCKET;
		c.h.cmsg_type = SCM_RIGHTS;
		c.h.cmsg_len = CMSG_LEN((size_t)n * sizeof(int));
		for (i = 0; i < n; i++)
			memcpy(CMSG_DATA(&c.h) + i * sizeof(int), &null, sizeof(null));
	}
	REQUIRE(sendmsg(sock, &h, MSG_DONTWAIT) == (ssize_t)size);
}

/* @taken: the message was accepted; otherwise none of its descriptors may be taken. */
static void close_fds(const int *fds, int n, bool taken)
{
	int i;

	for (i = 0; i < n; i++) {
		REQUIRE(fds[i] < 0 || taken);
		if (fds[i] >= 0)
			close(fds[i]);
	}
}

static void take_link(int sock)
{
	int fds[LINK_FDS], ret;
	struct link_msg m;

	ret = link_receive(sock, &m, fds, false);
	REQUIRE(!ret || ret == -EPROTO);
	REQUIRE(ret || m.op < LINK_OPS);
	close_fds(fds, LINK_FDS, !ret);
	if (ret || m.op != LINK_REPORT || report_attach(&instance, &m.report))
		return;
	REQUIRE(account_left(instance.account, ACCOUNT_SESSIONS) <= ACCOUNT_SESSIONS_MAX);
	REQUIRE(instance.report.nrules <= POLICY_RULES_MAX);
	REQUIRE(instance.report.gauges.open <= FRONT_SESSIONS_MAX);
}

static void take_holder(int sock)
{
	struct holder_msg m;
	int fd, ret;

	ret = holder_receive(sock, &m, &fd);
	REQUIRE(!ret || ret == -EPROTO || ret == -EMFILE);
	REQUIRE(ret || memchr(m.name, 0, sizeof(m.name)));
	close_fds(&fd, 1, !ret);
}

static void take_tracer(int sock)
{
	struct tracer_line line = { .sock = sock };
	int fds[TRACER_FDS], ret;
	struct tracer_msg m;

	ret = tracer_line_receive(&line, &m, fds);
	REQUIRE(!ret || ret == -EPIPE);
	close_fds(fds, TRACER_FDS, !ret);
}

static void take_recorder(int sock, bool with_fds)
{
	struct recorder_message m;
	int fds[2] = { -1, -1 }, ret;

	ret = recorder_receive(sock, &m, with_fds ? fds : NULL, MSG_DONTWAIT);
	REQUIRE(!ret || ret == -EPIPE);
	close_fds(fds, 2, !ret);
}

static void take(unsigned int who, int n)
{
	const int before = lowest();
	int sock = ends[who][1];

	switch (who) {
	case LINK:
		take_link(sock);
		break;
	case HOLDER:
		take_holder(sock);
		break;
	case TRACER:
		take_tracer(sock);
		break;
	default:
		take_recorder(sock, n);
	}
	REQUIRE(lowest() == before);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t packet[sizeof(struct link_msg) + 32768];
	size_t len, most;
	unsigned int who;
	uint16_t word;

	if (null < 0)
		begin();
	while (size >= 4) {
		who = data[0] % RECEIVERS;
		memcpy(&word, data + 2, sizeof(word));
		len = word & 0x7fff;
		most = len < size - 4 ? len : size - 4;
		memset(packet, 0, sizeof(packet));
		memcpy(packet, data + 4, most);
		if (word & 0x8000 && len < message_size[who])
			len = message_size[who];
		else
			len = most;
		/* An empty packet is like a close by the other end. */
		if (len) {
			send_packet(ends[who][0], packet, len, data[1] % (FDS_MAX + 1));
			take(who, data[1] % (FDS_MAX + 1));
		}
		data += 4 + most;
		size -= 4 + most;
	}
	return 0;
}

/* ---- initial inputs: "fuzz_messages -make DIR" ---- */

static void put(const char *dir, const char *name, unsigned int who, int n, const void *data,
		size_t size)
{
	uint8_t head[4] = { (uint8_t)who, (uint8_t)n };
	uint16_t len = (uint16_t)size;
	char path[512];
	FILE *f;

	memcpy(head + 2, &len, sizeof(len));
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "wb");
	REQUIRE(f && fwrite(head, sizeof(head), 1, f) == 1 && fwrite(data, size, 1, f) == 1);
	fclose(f);
}

static void make(const char *dir)
{
	static struct link_msg link;
	struct holder_msg holder = { .op = HOLDER_PUT, .name = "session-1" };
	struct tracer_msg tracer = { .op = TRACER_BEGIN };
	struct recorder_message recorder = { .kind = RECORDER_READY };
	char name[32];

	link.op = LINK_REPORT;
	put(dir, "report", LINK, 0, &link, offsetof(struct link_msg, start) + sizeof(link.report));
	for (link.op = 0; link.op < LINK_OPS; link.op++) {
		snprintf(name, sizeof(name), "link%u", link.op);
		put(dir, name, LINK, (int)link.op % 3, &link, offsetof(struct link_msg, start) +
		    (link.op == LINK_IDS ? sizeof(link.ids) : 0));
	}
	put(dir, "holder", HOLDER, 1, &holder, sizeof(holder));
	put(dir, "tracer", TRACER, TRACER_FDS, &tracer, sizeof(tracer));
	put(dir, "tracer_short", TRACER, TRACER_FDS, &tracer, sizeof(tracer) - 1);
	put(dir, "recorder", RECORDER, 2, &recorder, sizeof(recorder));
	put(dir, "recorder_short", RECORDER, 2, &recorder, sizeof(recorder) - 1);
}

int LLVMFuzzerInitialize(int *argc, char ***argv);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	if (*argc == 3 && !strcmp((*argv)[1], "-make")) {
		make((*argv)[2]);
		_exit(0);
	}
	return 0;
}
