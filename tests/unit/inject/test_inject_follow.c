// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Following execve, and signals around the exec stop.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "test_inject.h"

static pid_t doomed;

/* Replaces libc's waitid(): @doomed is killed between its stop and the wait for it. */
int waitid(idtype_t type, id_t id, siginfo_t *si, int options)
{
	siginfo_t dead;

	if (doomed && id == (id_t)doomed && !(options & WEXITED)) {
		kill(doomed, SIGKILL);
		syscall(SYS_waitid, P_PID, id, &dead, WEXITED | WNOWAIT | __WALL, NULL);
		doomed = 0;
	}
	return (int)syscall(SYS_waitid, type, id, si, options, NULL);
}

static void nap(void)
{
	const struct timespec ms = { 0, 1000000 };

	nanosleep(&ms, NULL);
}

static void free_slots(void)
{
	for (u32 i = 0; i < target.layout.nprocs; i++)
		slot(i)->state = ADEPT_SLOT_FREE;
}

static void wait_request(u32 i)
{
	for (int n = 0; n < 5000; n++, nap())
		if (__atomic_load_n(&slot(i)->exec_state, __ATOMIC_ACQUIRE) ==
		    ADEPT_EXEC_REQUEST)
			break;
}

static void begin(struct dep_follow *f, u32 i)
{
	wait_request(i);
	assert_int_equal(dep_follow_exec_begin(f, &target, i, &why), 0);
}

static int poll_end(struct dep_follow *f, struct dep_injected *done)
{
	int event = DEP_FOLLOW_PENDING;

	for (int n = 0; n < 5000 && event == DEP_FOLLOW_PENDING; n++, nap())
		event = dep_follow_exec_poll(f, &target, done, &why);
	return event;
}

static void launch(const char *how, const char *file, const char *arg, struct dep_injected *done)
{
	char *argv[] = { (char *)(uintptr_t)built("inject_exec"), (char *)(uintptr_t)how,
			 (char *)(uintptr_t)file, (char *)(uintptr_t)arg, NULL };
	struct dep_launch l = { argv, NULL, &native, 0 };

	if (dep_launch(&target, &l, done, &why))
		fail_msg("%s", why.text);
}

static void follow(const char *how, const char *file, const char *arg, int status)
{
	struct dep_injected first, second;
	struct dep_follow f;

	launch(how, file, arg, &first);
	begin(&f, first.proc);
	assert_int_equal(poll_end(&f, &second), DEP_FOLLOW_EXECED);
	assert_int_equal(second.pid, first.pid);
	assert_int_not_equal(second.proc, first.proc);
	assert_int_equal(slot(second.proc)->parent_serial, first.serial);
	assert_int_equal(slot(second.proc)->cause, ADEPT_BY_EXEC);
	assert_int_equal(slot(second.proc)->state, ADEPT_SLOT_LIVE);
	assert_int_equal(end_of(first.pid), status);
	free_slots();
}

static void test_leader(void **state)
{
	(void)state;
	follow("leader", "/bin/sh", NULL, 0);
	follow("leader", built("inject_show_static"), ">", 42 << 8);
}

static void test_thread(void **state)
{
	(void)state;
	follow("thread", "/bin/false", NULL, 1 << 8);
}

/* It uses the slot of its parent, which continues. */
static void test_vfork(void **state)
{
	struct dep_injected first, second;
	struct dep_follow f;

	(void)state;
	launch("vfork", "/bin/false", NULL, &first);
	begin(&f, first.proc);
	assert_true(f.child);
	assert_int_not_equal(f.pid, first.pid);
	assert_int_equal(poll_end(&f, &second), DEP_FOLLOW_EXECED);
	assert_int_equal(second.pid, f.pid);
	assert_int_equal(slot(second.proc)->parent_serial, first.serial);
	assert_int_equal(slot(second.proc)->cause, ADEPT_BY_EXEC);
	assert_int_equal(slot(first.proc)->state, ADEPT_SLOT_LIVE);
	assert_int_equal(slot(first.proc)->exec_state, ADEPT_EXEC_NONE);
	assert_int_equal(end_of(first.pid), 1 << 8);

	launch("vfork-killed", "/bin/false", NULL, &first);
	begin(&f, first.proc);
	assert_int_equal(poll_end(&f, &second), DEP_FOLLOW_DEAD);
	begin(&f, first.proc);
	assert_int_equal(poll_end(&f, &second), DEP_FOLLOW_EXECED);
	assert_int_equal(end_of(first.pid), 1 << 8);
	free_slots();
}

static void refused(const char *how, const char *file, int status)
{
	u32 images = target.session->native_images;
	u32 privileged = target.session->native_privileged;
	struct dep_injected first, second;
	struct dep_follow f;

	launch(how, file, NULL, &first);
	begin(&f, first.proc);
	assert_int_equal(poll_end(&f, &second), DEP_FOLLOW_NATIVE);
	assert_true(second.native && second.privileged);
	assert_non_null(strstr(why.text, "privileged"));
	assert_int_equal(target.session->native_images, images + 1);
	assert_int_equal(target.session->native_privileged, privileged + 1);
	assert_int_equal(end_of(first.pid), status);
	free_slots();
}

/* Images that gain privileges run natively, with these privileges. */
static void test_privileged(void **state)
{
	char dir[] = "/tmp/test_follow.XXXXXX", file[64], text[64], command[512];

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(file, sizeof(file), "%s/file", dir);
	snprintf(text, sizeof(text), "%s/text", dir);
	snprintf(command, sizeof(command),
		 "cd %s && cp /bin/false file && printf '#! %s' >text && chmod 755 file text && "
		 "chown 65534 file && chmod u+s file", dir, file);
	if (!geteuid() && !system(command) && dep_image_privileged(AT_FDCWD, file) == 1) {
		refused("leader", file, 1 << 8);
		refused("vfork", file, 1 << 8);
		refused("thread", text, 1 << 8);
		/* Set-uid to the current user. */
		assert_int_equal(chown(file, 0, (gid_t)-1), 0);
		assert_int_equal(chmod(file, 04755), 0);
		follow("leader", file, NULL, 1 << 8);
	}
	unlink(file);
	unlink(text);
	rmdir(dir);
}

static void test_fail(void **state)
{
	struct dep_injected first, second;
	struct dep_follow f;

	(void)state;
	launch("fail", "x", NULL, &first);
	begin(&f, first.proc);
	assert_int_equal(poll_end(&f, &second), DEP_FOLLOW_CANCELLED);
	assert_int_equal(end_of(first.pid), 7 << 8);

	launch("twice", "/bin/false", NULL, &first);
	begin(&f, first.proc);
	assert_int_equal(poll_end(&f, &second), DEP_FOLLOW_CANCELLED);
	begin(&f, first.proc);
	assert_int_equal(poll_end(&f, &second), DEP_FOLLOW_EXECED);
	assert_int_equal(end_of(first.pid), 1 << 8);
	free_slots();
}

static void test_stopped(void **state)
{
	struct dep_injected first, second;
	struct dep_follow f;
	int status;

	(void)state;
	launch("stopped", "/bin/false", NULL, &first);
	begin(&f, first.proc);
	for (int n = 0; n < 50; n++, nap())
		assert_int_equal(dep_follow_exec_poll(&f, &target, &second, &why),
				 DEP_FOLLOW_PENDING);
	/* Its parent sees the stop as in a native run. */
	assert_int_equal(waitpid(first.pid, &status, WUNTRACED | WNOHANG), 0);
	kill(first.pid, SIGCONT);
	assert_int_equal(poll_end(&f, &second), DEP_FOLLOW_EXECED);
	assert_int_equal(end_of(first.pid), 1 << 8);
	free_slots();
}

static void test_killed(void **state)
{
	static const char *const how[] = { "stopped", "thread-stopped" };
	struct dep_injected first, second;
	struct dep_follow f;

	(void)state;
	for (int i = 0; i < 2; i++) {
		launch(how[i], "/bin/false", NULL, &first);
		begin(&f, first.proc);
		kill(first.pid, SIGKILL);
		assert_int_equal(poll_end(&f, &second), DEP_FOLLOW_DEAD);
		assert_int_equal(end_of(first.pid), SIGKILL);
		free_slots();
	}
}

/* The parent is not notified of the end of a tracee until the tracer has reaped it. */
static void test_killed_at_stop(void **state)
{
	struct dep_injected first, second;
	struct dep_follow f;
	siginfo_t si;

	(void)state;
	launch("vfork", "/bin/false", NULL, &first);
	begin(&f, first.proc);
	doomed = f.pid;
	assert_int_equal(poll_end(&f, &second), DEP_FOLLOW_DEAD);
	assert_int_equal(doomed, 0);
	assert_int_equal(waitid(P_PID, (id_t)f.pid, &si, WEXITED | WNOHANG | __WALL), -1);
	assert_int_equal(errno, ECHILD);
	assert_int_equal(end_of(first.pid), (128 + SIGKILL) << 8);
	free_slots();
}

static void test_pending(void **state)
{
	static char out[OUTPUT_MAX];
	struct dep_injected first, second;
	struct dep_follow f;
	char line[64];

	(void)state;
	capture_begin();
	launch("pending", built("inject_show_pie"), NULL, &first);
	begin(&f, first.proc);
	assert_int_equal(poll_end(&f, &second), DEP_FOLLOW_EXECED);
	assert_int_equal(end_of(first.pid), 42 << 8);
	capture_end(out);
	snprintf(line, sizeof(line), "signal %d 0 1 1\n", SIGUSR1);
	assert_non_null(strstr(out, line));
	free_slots();
}

/* Many requests at once, answered in another order. */
static void test_many(void **state)
{
	enum { MANY = 6 };
	struct dep_injected first[MANY], second;
	struct dep_follow f[MANY];

	(void)state;
	for (int i = 0; i < MANY; i++)
		launch(i % 2 ? "thread" : "leader", "/bin/false", NULL, &first[i]);
	for (int i = 0; i < MANY; i++)
		begin(&f[i], first[i].proc);
	for (int i = MANY - 1; i >= 0; i--)
		assert_int_equal(poll_end(&f[i], &second), DEP_FOLLOW_EXECED);
	for (int i = 0; i < MANY; i++)
		assert_int_equal(end_of(first[i].pid), 1 << 8);
	free_slots();
}

static void test_no_slot(void **state)
{
	struct dep_injected first, second;
	struct dep_follow f;

	(void)state;
	launch("leader", "/bin/false", NULL, &first);
	begin(&f, first.proc);
	for (u32 i = 0; i < target.layout.nprocs; i++)
		slot(i)->state = ADEPT_SLOT_LIVE;
	assert_int_equal(poll_end(&f, &second), DEP_FOLLOW_NATIVE);
	assert_true(second.native);
	assert_non_null(strstr(why.text, "slots"));
	assert_int_equal(end_of(first.pid), 1 << 8);
	free_slots();
}

/* Slots can contain any pid; no other user's process may be traced because of it. */
/* The result of dep_follow_exec_begin() for slot 0 in another process. */
static int begin_in_child(const struct dep_target *t)
{
	struct dep_follow f;
	int status;
	pid_t pid;

	slot(0)->exec_state = ADEPT_EXEC_REQUEST;
	pid = fork();
	if (!pid)
		_exit(-dep_follow_exec_begin(&f, t, 0, NULL));
	status = end_of(pid);
	assert_int_equal(slot(0)->exec_state, ADEPT_EXEC_NATIVE);
	return WEXITSTATUS(status);
}

static void test_hostile(void **state)
{
	struct dep_target other;
	struct dep_follow f;
	siginfo_t si;
	pid_t pid = fork();

	(void)state;
	if (!pid) {
		execlp("sleep", "sleep", "100", NULL);
		_exit(1);
	}
	for (int n = 0; n < 100; n++)
		nap();
	slot(0)->state = ADEPT_SLOT_LIVE;
	slot(0)->pid = (u32)pid;
	slot(0)->exec_tid = (u32)pid;
	slot(0)->exec_state = ADEPT_EXEC_REQUEST;
	assert_int_equal(dep_follow_exec_begin(&f, &target, 0, &why), -EPERM);
	assert_int_equal(slot(0)->exec_state, ADEPT_EXEC_NATIVE);
	slot(0)->exec_tid = 1;
	assert_int_equal(dep_follow_exec_begin(&f, &target, 0, &why), -EPERM);
	/* Mapping the session is no proof of membership: this process maps it. */
	slot(0)->pid = slot(0)->exec_tid = (u32)getpid();
	other = target;
	other.base.caps = 0;
	assert_int_equal(begin_in_child(&other), EACCES);
	other.base.known = 0;
	assert_int_equal(begin_in_child(&other), EACCES);
	slot(0)->pid = (u32)-1;
	assert_int_equal(dep_follow_exec_begin(&f, &target, 0, &why), -EINVAL);
	slot(0)->pid = (u32)getpid();
	assert_int_equal(dep_follow_exec_begin(&f, &target, 0, &why), -EINVAL);
	assert_int_equal(dep_follow_exec_begin(&f, &target, ~0u, &why), -EINVAL);
	kill(pid, SIGKILL);
	assert_int_equal(waitid(P_PID, (id_t)pid, &si, WEXITED | WNOWAIT), 0);
	slot(0)->pid = (u32)pid;
	slot(0)->exec_tid = (u32)pid;
	assert_int_equal(dep_follow_exec_begin(&f, &target, 0, &why), -ESRCH);
	assert_int_equal(end_of(pid), SIGKILL);
	assert_int_equal(dep_follow_exec_begin(&f, &target, 0, &why), -ESRCH);
	free_slots();
}

/* A signal that arrives at the exec stop takes effect after the injection. */
static int signal_at_stop(int sig)
{
	struct dep_injected done;
	int fd[2], status;
	pid_t pid;
	char c;

	assert_int_equal(pipe(fd), 0);
	pid = fork();
	if (!pid) {
		close(fd[1]);
		if (read(fd[0], &c, 1) == 1)
			execl("/bin/true", "true", NULL);
		_exit(99);
	}
	assert_int_equal(ptrace(PTRACE_SEIZE, pid, NULL, PTRACE_O_TRACEEXEC), 0);
	assert_int_equal(write(fd[1], "", 1), 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status >> 8, SIGTRAP | (PTRACE_EVENT_EXEC << 8));
	kill(pid, sig);
	if (dep_inject(&target, pid, &(struct dep_origin){ .cause = ADEPT_BY_LAUNCH }, &done, &why))
		fail_msg("%s", why.text);
	close(fd[0]);
	close(fd[1]);
	assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
	if (WIFSTOPPED(status)) {
		assert_int_equal(WSTOPSIG(status), sig);
		kill(pid, SIGCONT);
		status = end_of(pid);
	}
	free_slots();
	return status;
}

static void test_signals(void **state)
{
	(void)state;
	assert_int_equal(signal_at_stop(SIGTERM), SIGTERM);
	assert_int_equal(signal_at_stop(SIGSTOP), 0);
	assert_int_equal(signal_at_stop(SIGCHLD), 0);
}

int test_inject_follow(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_leader),
		cmocka_unit_test(test_thread),
		cmocka_unit_test(test_vfork),
		cmocka_unit_test(test_privileged),
		cmocka_unit_test(test_fail),
		cmocka_unit_test(test_stopped),
		cmocka_unit_test(test_killed),
		cmocka_unit_test(test_killed_at_stop),
		cmocka_unit_test(test_pending),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_no_slot),
		cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_signals),
	};

	return cmocka_run_group_tests_name("follow", tests, NULL, NULL);
}
