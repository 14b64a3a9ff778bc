// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Who maps a session does not belong to it: judge_member SOCKET UID STORE JUDGED
 *
 * A server of root's maps whatever memory it is sent, as display and sound servers do.  A client of
 * user UID asks depd for a session, sends its memory to the server, and writes the server's number
 * into a process slot, as one that is about to execute something.  Then the server does execute
 * something: JUDGED, which tells whether an engine is in it.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../libdep/abi/session_file.h"

static void die(const char *what)
{
	fprintf(stderr, "judge_member: %s: %s\n", what, strerror(errno));
	_exit(99);
}

static void nap(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
}

/* Receive @text of @size bytes, with at least one descriptor. */
static int receive(int sock, char *text, size_t size)
{
	char control[CMSG_SPACE(4 * sizeof(int))];
	struct iovec iov = { text, size - 1 };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control),
	};
	ssize_t n = recvmsg(sock, &msg, 0);
	struct cmsghdr *c = n > 0 ? CMSG_FIRSTHDR(&msg) : NULL;
	int fd;

	text[n > 0 ? n : 0] = '\0';
	if (!c || c->cmsg_type != SCM_RIGHTS) {
		fprintf(stderr, "judge_member: no descriptor: %s\n", text);
		_exit(99);
	}
	memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	return fd;
}

static void send_fd(int sock, int fd)
{
	char control[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec iov = { (char[1]){ 'm' }, 1 };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control),
	};
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	if (sendmsg(sock, &msg, 0) != 1)
		die("sendmsg");
}

static void server(int sock, char *judged)
{
	char *argv[] = { judged, (char *)"server", NULL }, text[64];
	int fd = receive(sock, text, sizeof(text));

	if (mmap(NULL, ADEPT_PAGE, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED)
		die("mmap");
	/* Report that it is mapped; then wait for permission to exit. */
	if (write(sock, "m", 1) != 1 || read(sock, text, 1) != 1)
		die("the client");
	execv(judged, argv);
	die(judged);
}

static int ask_for_session(const char *path, const char *store)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int sock = socket(AF_UNIX, SOCK_STREAM, 0);
	char text[4096];

	snprintf(a.sun_path, sizeof(a.sun_path), "%s", path);
	if (connect(sock, (struct sockaddr *)&a, sizeof(a)))
		die(path);
	snprintf(text, sizeof(text),
		 "{\"v\":1,\"op\":\"record\",\"argv\":[\"client\"],\"cwd\":\"/\","
		 "\"store\":\"%s\",\"options\":{\"transport\":\"shm\"}}\n",
		 store);
	if (write(sock, text, strlen(text)) != (ssize_t)strlen(text))
		die("write");
	return receive(sock, text, sizeof(text));
}

/* Request that the execve of @pid is followed, and wait for the result. */
static u32 request(struct adept_session *s, pid_t pid)
{
	struct adept_proc *p = (struct adept_proc *)((char *)s + s->proc_off);
	u32 state = ADEPT_EXEC_REQUEST;

	p->serial = 1;
	p->pid = p->exec_tid = (u32)pid;
	p->exec_state = ADEPT_EXEC_REQUEST;
	s->procs_used = 1;
	__atomic_store_n(&p->state, ADEPT_SLOT_LIVE, __ATOMIC_RELEASE);
	for (int i = 0; i < 500 && state == ADEPT_EXEC_REQUEST; i++) {
		__atomic_fetch_add(&s->wakeup, 1, __ATOMIC_SEQ_CST);
		syscall(SYS_futex, &s->wakeup, FUTEX_WAKE, 1, NULL, NULL, 0);
		nap();
		state = __atomic_load_n(&p->exec_state, __ATOMIC_ACQUIRE);
	}
	return state;
}

static int tracer_of(pid_t pid)
{
	char path[64], line[256];
	int tracer = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "TracerPid: %d", &tracer) == 1)
			break;
	if (f)
		fclose(f);
	return tracer;
}

static void client(char **argv, int sock, pid_t pid)
{
	uid_t uid = (uid_t)atoi(argv[2]);
	struct adept_session *s;
	char byte;
	int fd;

	/* As a program that this user has executed. */
	if (setresgid(uid, uid, uid) || setresuid(uid, uid, uid) || prctl(PR_SET_DUMPABLE, 1))
		die("another user");
	fd = ask_for_session(argv[1], argv[3]);
	s = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (s == MAP_FAILED)
		die("mmap");
	send_fd(sock, fd);
	if (read(sock, &byte, 1) != 1)
		die("the server");
	printf("client: answer %u, ", request(s, pid));
	printf("traced %s\n", tracer_of(pid) > 0 ? "yes" : "no");
	fflush(stdout);
	if (write(sock, "g", 1) != 1)
		die("the server");
	/* The session ends with us: not before the server has executed what it executes. */
	if (read(sock, &byte, 1) > 0)
		die("the server");
	_exit(0);
}

int main(int argc, char **argv)
{
	int sock[2], status;
	pid_t pid;

	if (argc < 5 || socketpair(AF_UNIX, SOCK_STREAM, 0, sock))
		return 98;
	fcntl(sock[0], F_SETFD, FD_CLOEXEC);
	pid = fork();
	if (!pid) {
		close(sock[1]);
		/* It stays open until this process ends, after its execve. */
		server(fcntl(sock[0], F_DUPFD, 100), argv[4]);
	}
	if (!fork()) {
		close(sock[0]);
		client(argv, sock[1], pid);
	}
	close(sock[0]);
	close(sock[1]);
	while (wait(&status) > 0)
		;
	return 0;
}
