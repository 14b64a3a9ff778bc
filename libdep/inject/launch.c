// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Launch a program under the engine.
 *
 *	caller                        child
 *	fork ------------------------> restores signals and limits, waits
 *	PTRACE_SEIZE (no signal, no
 *	  stop that it could notice)
 *	"go" ------------------------> execve
 *	PTRACE_EVENT_EXEC <-----------
 *	inject, detach --------------> engine
 *
 * If execve fails, the child sends the errno through a pipe that a successful execve closes.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "internal.h"

#ifndef CLOSE_RANGE_CLOEXEC
#define CLOSE_RANGE_CLOEXEC 4u
#endif

#define SHELL "/bin/sh"

/** struct child - data for the forked child, which must not allocate memory */
struct child {
	const struct dep_launch *l;
	pid_t ptracer;		/* as in struct dep_target */
	const char *path;
	char *const *envp;
	char **shell_argv;	/* for a script without #!, else NULL */
	sigset_t mask;		/* the caller's signal mask */
	int go[2];		/* caller -> child */
	int result[2];		/* child -> caller */
	pid_t pid;
};

static void set_cloexec(int from, int to)
{
	if (from > to)
		return;
	if (!syscall(SYS_close_range, from, to, CLOSE_RANGE_CLOEXEC))
		return;
	/* Kernels before 5.11 cannot do that in one call. */
	if (to > 65536)
		to = 65536;
	for (int fd = from; fd <= to; fd++)
		fcntl(fd, F_SETFD, FD_CLOEXEC);
}

static void reset_signals(const struct dep_caller_state *n)
{
	for (int sig = 1; sig < NSIG; sig++)
		dep_signal_set(sig, n ? n->ignored >> (sig - 1) & 1 : dep_signal_ignored(sig));
}

static void reset_fds(const struct dep_caller_state *n)
{
	int from = 0;

	for (size_t i = 0; i < n->nfds; i++) {
		set_cloexec(from, n->fds[i] - 1);
		from = n->fds[i] + 1;
	}
	set_cloexec(from, INT_MAX);
	setrlimit(RLIMIT_NOFILE, &n->nofile);
}

/* In the child, with all signals blocked; only async-signal-safe calls. */
__attribute__((noreturn))
static void child_main(const struct child *c)
{
	const struct dep_caller_state *n = c->l->caller_state;
	ssize_t got;
	char go;
	int err;

	close(c->go[1]);
	reset_signals(n);
	if (n)
		reset_fds(n);
	if (c->l->flags & DEP_LAUNCH_NO_ASLR)
		personality((unsigned long)personality(0xffffffff) | ADDR_NO_RANDOMIZE);
	do {
		got = read(c->go[0], &go, 1);
	} while (got < 0 && errno == EINTR);
	if (got != 1)
		_exit(127);
	if (c->ptracer)
		prctl(PR_SET_PTRACER, (unsigned long)c->ptracer, 0, 0, 0);
	sigprocmask(SIG_SETMASK, n ? &n->mask : &c->mask, NULL);
	execve(c->path, c->l->argv, c->envp);
	err = errno;
	if (err == ENOEXEC && c->shell_argv) {
		execve(SHELL, c->shell_argv, c->envp);
		err = errno;
	}
	if (write(c->result[1], &err, sizeof(err)) != sizeof(err))
		_exit(126);
	_exit(127);
}

static void close_pipe(int fd[2])
{
	for (int i = 0; i < 2; i++) {
		if (fd[i] >= 0)
			close(fd[i]);
		fd[i] = -1;
	}
}

static int start_child(struct child *c, struct dep_why *why)
{
	sigset_t all;
	int err = 0;

	if (pipe2(c->go, O_CLOEXEC) || pipe2(c->result, O_CLOEXEC))
		return dep_inject_error(why, errno, "Cannot create a pipe: %m.");
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &c->mask);
	c->pid = fork();
	if (!c->pid)
		child_main(c);
	if (c->pid < 0)
		err = errno;
	pthread_sigmask(SIG_SETMASK, &c->mask, NULL);
	if (err)
		return dep_inject_error(why, err, "Cannot create a process: %s.", strerror(err));
	close(c->result[1]);
	c->result[1] = -1;
	return 0;
}

static int send_go(struct child *c)
{
	/* This process has the read end open as well, so there is no SIGPIPE. */
	return write(c->go[1], "", 1) == 1 ? 0 : -EIO;
}

/* Return: the errno of the child's execve, 0 if it succeeded. */
static int exec_result(struct child *c)
{
	ssize_t n;
	int err = 0;

	do {
		n = read(c->result[0], &err, sizeof(err));
	} while (n < 0 && errno == EINTR);
	return n == sizeof(err) ? err : 0;
}

static void reap(pid_t pid)
{
	while (waitpid(pid, NULL, __WALL) < 0 && errno == EINTR)
		;
}

static void kill_child(pid_t pid)
{
	int status;
	pid_t ret;

	kill(pid, SIGKILL);
	do {
		ret = waitpid(pid, &status, __WALL);
	} while ((ret < 0 && errno == EINTR) ||
		 (ret == pid && !WIFEXITED(status) && !WIFSIGNALED(status)));
}

static int exec_failed(const struct child *c, int err, struct dep_why *why)
{
	const char *file = c->l->argv[0];

	switch (err) {
	case 0:
		return dep_inject_error(why, ESRCH, "%s was killed before it began.", file);
	case ENOENT:
		return dep_inject_error(why, err,
				"%s: its interpreter or dynamic linker does not exist.", file);
	case ENOEXEC:
		return dep_inject_error(why, err, "%s is not an ELF program, nor a script.", file);
	default:
		return dep_inject_error(why, err, "%s cannot be executed: %s.", file,
					strerror(err));
	}
}

static long proc_number(const char *file, const char *key)
{
	char line[256];
	size_t len = strlen(key);
	long value = 0;
	FILE *f = fopen(file, "re");

	if (!f)
		return 0;
	while (fgets(line, sizeof(line), f)) {
		if (!strncmp(line, key, len)) {
			value = strtol(line + len, NULL, 10);
			break;
		}
	}
	fclose(f);
	return value;
}

static int seize_failed(pid_t pid, int err, struct dep_why *why)
{
	long scope = proc_number("/proc/sys/kernel/yama/ptrace_scope", "");
	char file[64];
	long tracer;

	snprintf(file, sizeof(file), "/proc/%d/status", pid);
	tracer = proc_number(file, "TracerPid:");
	if (tracer)
		return dep_inject_error(why, err,
				"Process %d is already traced by process %ld "
				"(a debugger or strace?).", pid, tracer);
	if (err == EPERM && scope >= 2)
		return dep_inject_error(why, err,
				"The system forbids ptrace (kernel.yama.ptrace_scope is %ld).",
				scope);
	return dep_inject_error(why, err, "Process %d cannot be traced: %s.", pid, strerror(err));
}

/* Wait until the child stops in execve. Its signals are delivered as without a tracer. */
static int wait_exec(struct child *c, struct dep_why *why)
{
	int sig = 0, stop;

	for (;;) {
		stop = dep_trace_wait(c->pid, true, &sig);
		switch (stop) {
		case DEP_STOP_EXEC:
			return 0;
		case DEP_STOP_DEAD:
			reap(c->pid);
			c->pid = 0;
			return exec_failed(c, exec_result(c), why);
		case DEP_STOP_GROUP:
			ptrace(PTRACE_LISTEN, c->pid, NULL, NULL);
			break;
		case DEP_STOP_SIGNAL:
			ptrace(PTRACE_CONT, c->pid, NULL, (long)sig);
			break;
		default:
			if (stop < 0)
				return dep_inject_error(why, -stop, "Process %d was lost: %s.",
							c->pid, strerror(-stop));
			ptrace(PTRACE_CONT, c->pid, NULL, NULL);
		}
	}
}

static int run_traced(struct child *c, const struct dep_target *t, struct dep_injected *out,
		      struct dep_why *why)
{
	long options = PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;
	int err;

	if (ptrace(PTRACE_SEIZE, c->pid, NULL, options))
		return seize_failed(c->pid, errno, why);
	err = send_go(c);
	if (err)
		return dep_inject_error(why, -err, "The child cannot be started.");
	err = wait_exec(c, why);
	if (err)
		return err;
	err = dep_inject(t, c->pid, &(struct dep_origin){ .cause = ADEPT_BY_LAUNCH }, out, why);
	if (!out->privileged)
		return err;
	/* If the child was killed, its end is reported as for any child. */
	dep_inject_release(c->pid);
	out->native = true;
	return 0;
}

static int run_native(struct child *c, struct dep_injected *out, struct dep_why *why)
{
	int err = send_go(c);

	if (err)
		return dep_inject_error(why, -err, "The child cannot be started.");
	err = exec_result(c);
	if (err) {
		reap(c->pid);
		c->pid = 0;
		return exec_failed(c, err, why);
	}
	out->pid = c->pid;
	out->native = out->privileged = true;
	dep_inject_error(why, 0, "privileged: set-uid, set-gid or file capabilities, or a security "
		 "module confines it");
	return 0;
}

/* As execvp(3) for a text file: sh FILE ARGS. */
static char **shell_command(const char *path, char *const *argv)
{
	size_t n = 0;
	char **sh;

	while (argv[n])
		n++;
	sh = calloc(n + 2, sizeof(*sh));
	if (!sh)
		return NULL;
	sh[0] = (char *)(uintptr_t)SHELL;
	sh[1] = (char *)(uintptr_t)path;
	for (size_t i = 1; i < n; i++)
		sh[i + 1] = argv[i];
	return sh;
}

static int check_image(const struct dep_image *img, struct dep_why *why)
{
	if (img->kind == DEP_IMAGE_ELF32)
		return dep_inject_error(why, ENOTSUP,
				"%s is a 32-bit program; only 64-bit ones can be recorded.",
				img->file);
	if (img->kind == DEP_IMAGE_BAD_ELF)
		return dep_inject_error(why, ENOEXEC, "%s is not a valid ELF program.", img->file);
	return 0;
}

int dep_launch(const struct dep_target *t, const struct dep_launch *l,
	       struct dep_injected *out, struct dep_why *why)
{
	struct child c = { .l = l, .ptracer = t->ptracer, .go = { -1, -1 }, .result = { -1, -1 } };
	struct dep_image img;
	char path[PATH_MAX];
	bool native;
	int err;

	memset(out, 0, sizeof(*out));
	if (!l->argv || !l->argv[0])
		return dep_inject_error(why, EINVAL, "There is no command.");
	err = dep_image_find(l->argv[0], path, sizeof(path), why);
	if (!err)
		err = dep_image_examine(path, &img, why);
	if (!err)
		err = check_image(&img, why);
	if (err)
		return err;
	c.path = path;
	c.envp = l->envp ? l->envp : environ;
	if (img.kind == DEP_IMAGE_TEXT) {
		c.shell_argv = shell_command(path, l->argv);
		if (!c.shell_argv)
			return dep_inject_error(why, ENOMEM, "No memory.");
	}
	err = start_child(&c, why);
	if (err)
		goto out_free;
	/* Under a tracer without CAP_SYS_PTRACE the program would not get its file's privileges. */
	native = (img.privileged && !dep_judge_raises()) || dep_judge_confined();
	err = native ? run_native(&c, out, why) : run_traced(&c, t, out, why);
	if (err && c.pid)
		kill_child(c.pid);
out_free:
	close_pipe(c.go);
	close_pipe(c.result);
	free(c.shell_argv);
	return err;
}
