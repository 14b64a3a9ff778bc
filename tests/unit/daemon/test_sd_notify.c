// SPDX-License-Identifier: GPL-2.0-or-later
/* Messages to systemd, and the log without a journal. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/base/sd_notify.h"
#include "daemon/base/log.h"

static char text[1024];

static const char *hear(int sock)
{
	ssize_t n = recv(sock, text, sizeof(text) - 1, MSG_DONTWAIT);

	text[n < 0 ? 0 : n] = 0;
	return text;
}

static void notified(void **state)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	unsigned long long us;

	(void)state;
	snprintf(a.sun_path, sizeof(a.sun_path), "/tmp/adept-notify.%d", getpid());
	unlink(a.sun_path);
	assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	setenv("NOTIFY_SOCKET", a.sun_path, 1);
	notify_ready();
	assert_string_equal(hear(fd), "READY=1");
	notify_status("%d sessions", 3);
	assert_string_equal(hear(fd), "STATUS=3 sessions");
	notify_reloading();
	assert_int_equal(sscanf(hear(fd), "RELOADING=1\nMONOTONIC_USEC=%llu", &us), 1);
	assert_true(us > 0);
	notify_stopping();
	assert_string_equal(hear(fd), "STOPPING=1");
	notify_extend(2000000000);
	assert_string_equal(hear(fd), "EXTEND_TIMEOUT_USEC=2000000");
	notify_alive();
	assert_string_equal(hear(fd), "WATCHDOG=1");
	unlink(a.sun_path);
	unsetenv("NOTIFY_SOCKET");
	notify_ready();
	assert_string_equal(hear(fd), "");
	close(fd);
}

static void watchdog(void **state)
{
	char pid[16];

	(void)state;
	assert_int_equal(notify_watchdog_ns(), 0);
	setenv("WATCHDOG_USEC", "4000000", 1);
	assert_int_equal(notify_watchdog_ns(), 2000000000);
	setenv("WATCHDOG_PID", "1", 1);
	assert_int_equal(notify_watchdog_ns(), 0);
	snprintf(pid, sizeof(pid), "%d", getpid());
	setenv("WATCHDOG_PID", pid, 1);
	assert_int_equal(notify_watchdog_ns(), 2000000000);
	unsetenv("WATCHDOG_PID");
	unsetenv("WATCHDOG_USEC");
}

/* Return what log_msg() writes to stderr. */
static const char *said(int priority, uint32_t session, const char *what)
{
	int fd = memfd_create("stderr", MFD_CLOEXEC), old = dup(2);
	ssize_t n;

	dup2(fd, 2);
	log_open(NULL);
	log_msg(priority, session, "%s", what);
	dup2(old, 2);
	close(old);
	n = pread(fd, text, sizeof(text) - 1, 0);
	text[n] = 0;
	close(fd);
	return text;
}

static void plain(void **state)
{
	char longest[3000], pid[16];

	(void)state;
	unsetenv("SYSTEMD_EXEC_PID");
	unsetenv("JOURNAL_STREAM");
	assert_string_equal(said(LOG_ERR, 0, "words"), "depd: words\n");
	assert_string_equal(said(LOG_ERR, 7, "words"), "depd: session 7: words\n");
	/* a stale variable: stderr is no longer the journal */
	setenv("JOURNAL_STREAM", "1:2", 1);
	assert_string_equal(said(LOG_ERR, 0, "words"), "depd: words\n");
	/* systemd reads it */
	snprintf(pid, sizeof(pid), "%d", getpid());
	setenv("SYSTEMD_EXEC_PID", pid, 1);
	assert_string_equal(said(LOG_WARNING, 0, "words"), "<4>depd: words\n");
	/* a service's child */
	setenv("SYSTEMD_EXEC_PID", "1", 1);
	assert_string_equal(said(LOG_WARNING, 0, "words"), "depd: words\n");
	unsetenv("SYSTEMD_EXEC_PID");
	unsetenv("JOURNAL_STREAM");
	memset(longest, 'x', sizeof(longest));
	longest[sizeof(longest) - 1] = 0;
	assert_true(strlen(said(LOG_ERR, 0, longest)) > 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(notified), cmocka_unit_test(watchdog), cmocka_unit_test(plain),
	};

	return cmocka_run_group_tests_name("notify", tests, NULL, NULL);
}
