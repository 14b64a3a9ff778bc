// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Suite: native_children
 *
 * native_children KIND: print "ready", wait for a byte on standard input, then create a child.  A
 * forked child prints its state and uses it; one that executes another program lists its mappings.
 * KIND forks: create children until standard input ends, and count those that have the session.
 */
#include <asm/prctl.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define GS_BASE 0x123456000ul

extern char **environ;
static char altstack[65536], child_stack[65536];
static unsigned char *code;
static volatile int handled;

static void handler(int sig)
{
	(void)sig;
	handled++;
}

static void put_code(int result)
{
	const unsigned char text[] = { 0xb8, (unsigned char)result, 0, 0, 0, 0xc3 };

	memcpy(code, text, sizeof(text));
}

static int run_code(void)
{
	return ((int (*)(void))(uintptr_t)code)();
}

static void print_file(const char *path)
{
	static char buf[1 << 16];
	int fd = open(path, O_RDONLY);
	ssize_t n;

	printf("%s\n", path);
	while ((n = read(fd, buf, sizeof(buf))) > 0)
		fwrite(buf, 1, (size_t)n, stdout);
	close(fd);
}

static void print_lines(const char *path, const char *key)
{
	char line[512];
	FILE *f = fopen(path, "r");

	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, key, strlen(key)))
			fputs(line, stdout);
	if (f)
		fclose(f);
}

/* Sum of all code: an int3 that was left behind changes it. */
static int sum_code(struct dl_phdr_info *info, size_t size, void *sum)
{
	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		const unsigned char *at = (const unsigned char *)(info->dlpi_addr + p->p_vaddr);

		for (size_t k = 0; p->p_type == PT_LOAD && p->p_flags & PF_X && k < p->p_memsz; k++)
			*(unsigned long *)sum = *(unsigned long *)sum * 31 + at[k];
	}
	return 0;
}

static void print_state(void)
{
	static const int signals[] = { SIGUSR1, SIGSEGV, SIGINT, SIGTERM, SIGTRAP };
	unsigned long gs = 0, sum = 0;
	struct sigaction sa;
	struct rlimit lim;
	stack_t ss;

	print_file("/proc/self/maps");
	for (int fd = 0; fd < 64; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			printf("fd %d\n", fd);
	print_lines("/proc/self/status", "Sig");
	print_lines("/proc/self/status", "Shd");
	print_lines("/proc/self/status", "VmLck");
	print_lines("/proc/self/status", "Threads");
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		sigaction(signals[i], NULL, &sa);
		printf("action %d %p %x\n", signals[i], (void *)(uintptr_t)sa.sa_handler,
		       (unsigned)sa.sa_flags);
	}
	sigaltstack(NULL, &ss);
	printf("altstack %p %d %zu\n", ss.ss_sp, ss.ss_flags, ss.ss_size);
	syscall(SYS_arch_prctl, ARCH_GET_GS, &gs);
	getrlimit(RLIMIT_DATA, &lim);
	printf("gs %lx data %lx %lx\n", gs, lim.rlim_cur, lim.rlim_max);
	dl_iterate_phdr(sum_code, &sum);
	printf("code %lx\n", sum);
}

static void use_state(void)
{
	int status;
	pid_t pid;

	put_code(7);
	printf("generated code %d\n", run_code());
	raise(SIGUSR1);
	printf("handled %d\n", handled);
	pid = fork();
	if (!pid)
		_exit(5);
	waitpid(pid, &status, 0);
	printf("its child %d\n", status);
	printf("status of a command %d\n", system("exit 3"));
}

static void child(void)
{
	print_state();
	use_state();
	fflush(stdout);
	_exit(9);
}

static int child_of_clone(void *arg)
{
	(void)arg;
	child();
	return 0;
}

static pid_t spawn(void)
{
	char *argv[] = { (char *)"cat", (char *)"/proc/self/maps", NULL };
	pid_t pid = -1;

	posix_spawn(&pid, "/bin/cat", NULL, NULL, argv, environ);
	return pid;
}

static pid_t create(const char *kind)
{
	static int tid;
	pid_t pid = -1;

	if (!strcmp(kind, "fork"))
		pid = fork();
	else if (!strcmp(kind, "clone"))
		pid = (pid_t)syscall(SYS_clone, CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID | SIGCHLD,
				     0, 0, &tid, 0);
	else if (!strcmp(kind, "stack"))
		return clone(child_of_clone, child_stack + sizeof(child_stack), SIGCHLD, NULL);
	else if (!strcmp(kind, "spawn"))
		return spawn();
	else if (!strcmp(kind, "vfork") && !(pid = vfork()))
		execl("/bin/cat", "cat", "/proc/self/maps", (char *)NULL);
	if (!pid)
		child();
	return pid;
}

static void *waiter(void *arg)
{
	struct epoll_event e;

	epoll_wait(*(int *)arg, &e, 1, -1);
	return NULL;
}

static void prepare(void)
{
	static int epoll;
	const stack_t ss = { .ss_sp = altstack, .ss_size = sizeof(altstack) };
	struct rlimit lim = { 1ul << 40, 1ul << 41 };
	struct sigaction sa = { .sa_handler = handler, .sa_flags = SA_ONSTACK | SA_RESTART };
	pthread_t thread;
	sigset_t set;

	setrlimit(RLIMIT_DATA, &lim);
	sigaction(SIGUSR1, &sa, NULL);
	sigaction(SIGSEGV, &sa, NULL);
	signal(SIGINT, SIG_IGN);
	sigaltstack(&ss, NULL);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	sigaddset(&set, SIGSEGV);
	sigprocmask(SIG_SETMASK, &set, NULL);
	syscall(SYS_arch_prctl, ARCH_SET_GS, GS_BASE);
	code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		    0);
	put_code(1);
	epoll = epoll_create1(0);
	pthread_create(&thread, NULL, waiter, &epoll);
}

/* Whether it can access the session; see "Running processes" in limits.rst. */
static int has_session(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[512];
	int found = 0;

	while (maps && fgets(line, sizeof(line), maps))
		found |= strstr(line, "adept-session") && !strstr(line, " ---s ");
	return found || !maps;
}

static int forks(void)
{
	struct pollfd in = { .fd = 0, .events = POLLIN };
	int status, found = 0, n = 0;
	pid_t pid;

	printf("ready\n");
	fflush(stdout);
	for (; !poll(&in, 1, 0); n++) {
		pid = fork();
		if (!pid)
			_exit(has_session());
		if (waitpid(pid, &status, 0) != pid || status)
			found++;
	}
	printf("%s, %d with the session or ended otherwise\n", n ? "children" : "none", found);
	return 0;
}

int main(int argc, char **argv)
{
	int status = -1;
	char byte;
	pid_t pid;

	if (argc != 2 || !strcmp(argv[1], "forks"))
		return forks();
	prepare();
	setvbuf(stdout, NULL, _IOFBF, 1 << 16);
	printf("ready\n");
	fflush(stdout);
	if (read(0, &byte, 1) != 1)
		return 1;
	put_code(2);
	printf("code %d\n", run_code());
	fflush(stdout);
	pid = create(argv[1]);
	waitpid(pid, &status, 0);
	put_code(3);
	raise(SIGUSR1);
	printf("status %x, code %d, handled %d\n", status, run_code(), handled);
	fflush(stdout);
	return 0;
}
