// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * step_oracle: print every memory reference of a program, by single-stepping it.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "oracle.h"

#define OWN_FAILURE	125

static const char usage[] =
	"usage: step_oracle [-o FILE] [-i FILE] [--blocks] [--] COMMAND [ARGUMENT...]\n"
	"  -o FILE    write the references to FILE instead of standard output\n"
	"  -i FILE    write counts and the vdso's place to FILE\n"
	"  --blocks   write the executed basic blocks instead of the references\n"
	"Exit status: the command's; 128 + N if signal N ended it; 125 if stepping failed.\n";

static int options(int argc, char **argv, struct tracee *t, const char **info)
{
	static const struct option longopts[] = {
		{ "blocks", no_argument, NULL, 'b' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	int c, err;

	while ((c = getopt_long(argc, argv, "+o:i:h", longopts, NULL)) != -1) {
		switch (c) {
		case 'o':
			err = print_open(optarg);
			if (err) {
				fprintf(stderr, "step_oracle: %s: %s\n", optarg, strerror(-err));
				return -1;
			}
			break;
		case 'i':
			*info = optarg;
			break;
		case 'b':
			t->want_blocks = true;
			break;
		case 'h':
			fputs(usage, stdout);
			exit(0);
		default:
			fputs(usage, stderr);
			return -1;
		}
	}
	if (optind == argc) {
		fputs(usage, stderr);
		return -1;
	}
	return 0;
}

/* The child: wait until it is traced, then become the program. */
static void __attribute__((noreturn)) become(char **argv, int wait_fd)
{
	char c;

	if (read(wait_fd, &c, 1) != 1)
		_exit(OWN_FAILURE);
	personality(personality(0xffffffff) | ADDR_NO_RANDOMIZE);
	execvp(argv[0], argv);
	fprintf(stderr, "step_oracle: %s: %s\n", argv[0], strerror(errno));
	_exit(errno == ENOENT ? 127 : 126);
}

/*
 * On one processor a step needs no wakeup across processors and takes a third of the time.  The
 * program cannot see this (step.c).
 */
static void pin(struct tracee *t)
{
	cpu_set_t one;
	int cpu = sched_getcpu();

	if (cpu < 0 || sched_getaffinity(0, sizeof(t->affinity), &t->affinity))
		return;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	t->pinned = !sched_setaffinity(0, sizeof(one), &one);
}

/*
 * Start the program; on return it is stopped in its exec, or has ended because it could not
 * execute.
 */
static int launch(struct tracee *t, char **argv)
{
	const long opts = PTRACE_O_EXITKILL | PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEEXEC;
	int fds[2], err = 0;

	pin(t);
	if (pipe2(fds, O_CLOEXEC))
		return -errno;
	t->pid = fork();
	if (t->pid < 0)
		return -errno;
	if (!t->pid) {
		close(fds[1]);
		become(argv, fds[0]);
	}
	close(fds[0]);
	if (ptrace(PTRACE_SEIZE, t->pid, 0, opts))
		err = -errno;
	if (!err && write(fds[1], "", 1) != 1)
		err = -errno;
	close(fds[1]);
	if (!err && waitpid(t->pid, &t->status, __WALL) < 0)
		err = -errno;
	return err;
}

static void write_info(const char *path, const struct tracee *t, double seconds)
{
	FILE *f = fopen(path, "we");

	if (!f) {
		fprintf(stderr, "step_oracle: %s: %s\n", path, strerror(errno));
		return;
	}
	fprintf(f, "steps %lu\nreferences %lu\nblocks %lu\nundecodable %lu\n",
		(unsigned long)t->steps, (unsigned long)t->refs, (unsigned long)t->blocks,
		(unsigned long)t->unknown);
	fprintf(f, "vdso %lx %lx\n", (unsigned long)t->vdso_start, (unsigned long)t->vdso_end);
	fprintf(f, "seconds %.3f\nsteps_per_second %.0f\n", seconds, t->steps / seconds);
	fclose(f);
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec * 1e-9;
}

int main(int argc, char **argv)
{
	struct tracee t = { 0 };
	const char *info = NULL;
	double start = now();
	int err;

	if (options(argc, argv, &t, &info))
		return OWN_FAILURE;
	err = code_init();
	if (!err)
		err = launch(&t, argv + optind);
	if (!err && WIFSTOPPED(t.status))
		err = trace(&t);
	if (err && t.pid > 0)
		kill(t.pid, SIGKILL);
	if (!err)
		err = print_close();
	else
		print_close();
	if (info)
		write_info(info, &t, now() - start);
	if (err) {
		fprintf(stderr, "step_oracle: %s, after %lu instructions at pc %lx\n",
			strerror(-err), (unsigned long)t.steps, (unsigned long)t.regs.rip);
		return OWN_FAILURE;
	}
	if (t.unknown)
		return OWN_FAILURE;
	return WIFSIGNALED(t.status) ? 128 + WTERMSIG(t.status) : WEXITSTATUS(t.status);
}
