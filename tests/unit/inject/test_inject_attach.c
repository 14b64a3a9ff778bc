// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Attaching to processes that are stopped at their first instruction: programs must not notice it.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "libdep/inject/internal.h"
#include "test_inject.h"

static char *environment[] = { (char *)"PATH=/bin:/usr/bin", (char *)"A=b", NULL };

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

static void block(const sigset_t *set)
{
	sigprocmask(SIG_SETMASK, set, NULL);
}

/* As the BPF program does it: SIGSTOP in the middle of execve. */
static pid_t held(char *const *argv, const sigset_t *blocked)
{
	int fd[2], status;
	pid_t pid;
	char c;

	assert_int_equal(pipe2(fd, O_CLOEXEC), 0);
	pid = fork();
	if (!pid) {
		personality(ADDR_NO_RANDOMIZE);
		if (blocked)
			block(blocked);
		if (read(fd[0], &c, 1) == 1)
			execve(argv[0], argv, environment);
		_exit(99);
	}
	assert_int_equal(ptrace(PTRACE_SEIZE, pid, NULL, PTRACE_O_TRACEEXEC), 0);
	assert_int_equal(write(fd[1], "", 1), 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status >> 8, SIGTRAP | (PTRACE_EVENT_EXEC << 8));
	assert_int_equal(kill(pid, SIGSTOP), 0);
	assert_int_equal(ptrace(PTRACE_DETACH, pid, NULL, NULL), 0);
	close(fd[0]);
	close(fd[1]);
	return pid;
}

static int natively(char *const *argv, char *out)
{
	int status;
	pid_t pid;

	capture_begin();
	pid = fork();
	if (!pid) {
		personality(ADDR_NO_RANDOMIZE);
		execve(argv[0], argv, environment);
		_exit(99);
	}
	status = end_of(pid);
	capture_end(out);
	return status;
}

static int try(pid_t pid, struct dep_injected *done)
{
	const struct dep_pending who = { .pid = pid };

	return dep_attach(&target, &who, ADEPT_BY_LAUNCH, done, &why);
}

/* Attach to @pid; return its exit status. */
static int take(pid_t pid, struct dep_injected *done)
{
	int err = try(pid, done);

	if (err) {
		kill(pid, SIGKILL);
		end_of(pid);
		fail_msg("%s", why.text);
	}
	assert_int_equal(done->pid, pid);
	assert_int_equal(slot(done->proc)->pid, pid);
	return end_of(pid);
}

static void compare(const char *file, const char *arg)
{
	static char expect[OUTPUT_MAX], got[OUTPUT_MAX];
	char *argv[] = { (char *)(uintptr_t)file, (char *)(uintptr_t)arg, NULL };
	int status = natively(argv, expect);
	struct dep_injected done;

	assert_int_equal(WEXITSTATUS(status), 42);
	capture_begin();
	assert_int_equal(take(held(argv, NULL), &done), status);
	capture_end(got);
	remove_engine(got, &done.boot);
	assert_string_equal(got, expect);
	free_slots();
}

static void compare_all(void)
{
	compare(built("inject_show_pie"), "arg");
	compare(built("inject_show_nopie"), "arg");
	compare(built("inject_show_static"), "arg");
	compare(built("inject_show_staticpie"), "arg");
	compare("/lib64/ld-linux-x86-64.so.2", built("inject_show_pie"));
}

static void test_same(void **state)
{
	(void)state;
	compare_all();
}

static void test_same_otherwise(void **state)
{
	(void)state;
	target.flags = DEP_T_NO_VDSO | DEP_T_NO_PROC;
	compare_all();
	target.flags = 0;
}

/* The same user is sufficient; no other right is needed. */
static void test_same_user(void **state)
{
	int status;
	pid_t pid;

	(void)state;
	if (getuid())
		skip();
	fflush(stdout);
	pid = fork();
	if (!pid) {
		char *argv[] = { (char *)"/bin/false", NULL };
		struct dep_injected done;

		/* A child must not continue with the other tests after a failure. */
		signal(SIGALRM, SIG_DFL);
		alarm(20);
		if (setgid(65534) || setuid(65534) || prctl(PR_SET_DUMPABLE, 1) ||
		    dep_base_self(&target.base, &why))
			_exit(2);
		pid = held(argv, NULL);
		if (try(pid, &done)) {
			fprintf(stderr, "%s\n", why.text);
			kill(pid, SIGKILL);
			_exit(3);
		}
		_exit(waitpid(pid, &status, 0) == pid && status == 1 << 8 ? 0 : 4);
	}
	assert_int_equal(end_of(pid), 0);
	free_slots();
}

/* A blocked SIGCONT must not stay pending. */
static void test_blocked(void **state)
{
	char *argv[] = { (char *)"/bin/grep", (char *)"-E", (char *)"^(SigPnd|ShdPnd|SigBlk)",
			 (char *)"/proc/self/status", NULL };
	char got[OUTPUT_MAX];
	struct dep_injected done;
	sigset_t all;

	(void)state;
	sigfillset(&all);
	sigdelset(&all, SIGCHLD);
	capture_begin();
	assert_int_equal(take(held(argv, &all), &done), 0);
	capture_end(got);
	assert_non_null(strstr(got, "SigPnd:\t0000000000000000"));
	assert_non_null(strstr(got, "ShdPnd:\t0000000000000000"));
	if (!strstr(got, "SigBlk:\tfffffffe7ffafeff"))
		fail_msg("%s", got);
	free_slots();
}

static pid_t held_command(const char *file)
{
	char *argv[] = { (char *)(uintptr_t)file, NULL };

	return held(argv, NULL);
}

static char state_of(pid_t pid)
{
	char path[64], buf[512] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "re");
	assert_non_null(f);
	assert_true(fread(buf, 1, sizeof(buf) - 1, f) > 0);
	fclose(f);
	return strrchr(buf, ')')[2];
}

static void becomes(pid_t pid, char state)
{
	for (int n = 0; n < 2000 && state_of(pid) != state; n++)
		nap();
	assert_int_equal(state_of(pid), state);
}

static void test_signals(void **state)
{
	struct dep_injected done;
	pid_t pid;

	(void)state;
	/* A pending signal has its usual effect. */
	pid = held_command("/bin/false");
	becomes(pid, 'T');
	kill(pid, SIGTERM);
	assert_int_equal(take(pid, &done), SIGTERM);
	pid = held_command("/bin/false");
	becomes(pid, 'T');
	kill(pid, SIGUSR1);
	assert_int_equal(take(pid, &done), SIGUSR1);
	/* Several stops count as one. */
	pid = held_command("/bin/false");
	kill(pid, SIGSTOP);
	kill(pid, SIGTSTP);
	assert_int_equal(take(pid, &done), 1 << 8);
	free_slots();
}

static void refused(pid_t pid, int err, const char *text)
{
	struct dep_injected done;

	memset(&why, 0, sizeof(why));
	assert_int_equal(try(pid, &done), -err);
	if (!strstr(why.text, text))
		fail_msg("\"%s\" does not say \"%s\"", why.text, text);
	for (u32 i = 0; i < target.layout.nprocs; i++)
		assert_int_equal(slot(i)->state, ADEPT_SLOT_FREE);
}

static void test_wrong(void **state)
{
	pid_t pid = fork();
	siginfo_t si;

	(void)state;
	if (!pid) {
		execlp("sleep", "sleep", "100", NULL);
		_exit(1);
	}
	becomes(pid, 'S');
	refused(pid, EINVAL, "not stopped");
	/* Stopped after its beginning: it stays stopped. */
	kill(pid, SIGSTOP);
	refused(pid, EINVAL, "started to run");
	nap();
	assert_int_equal(state_of(pid), 'T');
	kill(pid, SIGCONT);
	becomes(pid, 'S');
	kill(pid, SIGKILL);
	assert_int_equal(waitid(P_PID, (id_t)pid, &si, WEXITED | WNOWAIT), 0);
	refused(pid, ESRCH, "no process");
	end_of(pid);
	refused(pid, ESRCH, "no process");
	refused(0, EINVAL, "process number");
	refused(-1, EINVAL, "process number");
	refused(getpid(), EINVAL, "process number");
	/* Continued by another process before the attach. */
	pid = held_command("/bin/cat");
	kill(pid, SIGCONT);
	for (int n = 0; n < 100; n++)
		nap();
	if (waitpid(pid, NULL, WNOHANG) != pid) {
		refused(pid, EINVAL, "not stopped");
		kill(pid, SIGKILL);
		end_of(pid);
	}
}

static void test_traced(void **state)
{
	pid_t pid = held_command("/bin/true"), tracer;
	int fd[2];
	char c;

	(void)state;
	assert_int_equal(pipe2(fd, O_CLOEXEC), 0);
	tracer = fork();
	if (!tracer) {
		becomes(pid, 'T');
		ptrace(PTRACE_SEIZE, pid, NULL, 0L);
		ptrace(PTRACE_INTERRUPT, pid, NULL, NULL);
		if (write(fd[1], "", 1) == 1)
			pause();
		_exit(0);
	}
	assert_int_equal(read(fd[0], &c, 1), 1);
	refused(pid, EPERM, "trace");
	kill(tracer, SIGKILL);
	end_of(tracer);
	kill(pid, SIGKILL);
	end_of(pid);
	close(fd[0]);
	close(fd[1]);
}

/* A pid is not enough: its process may have ended, or the number may belong to another process. */
static void test_identity(void **state)
{
	struct dep_injected done;
	struct dep_pending who;
	struct timespec now;
	pid_t pid;

	(void)state;
	clock_gettime(CLOCK_BOOTTIME, &now);
	pid = held_command("/bin/false");
	who = (struct dep_pending){
		.pid = pid, .has_uid = true, .uid = getuid(),
		.start_ns = (u64)(now.tv_sec + 10) * 1000000000ull,
	};
	/* Another process: it stays stopped. */
	assert_int_equal(dep_attach(&target, &who, ADEPT_BY_LAUNCH, &done, &why), -ESRCH);
	assert_false(done.privileged);
	becomes(pid, 'T');
	who.start_ns = (u64)now.tv_sec * 1000000000ull + (u64)now.tv_nsec;
	assert_int_equal(dep_attach(&target, &who, ADEPT_BY_LAUNCH, &done, &why), 0);
	assert_int_equal(end_of(pid), 1 << 8);
	free_slots();
	/* Its user has changed since it was stopped: it runs natively. */
	pid = held_command("/bin/false");
	who = (struct dep_pending){ .pid = pid, .has_uid = true, .uid = getuid() + 1 };
	assert_int_equal(dep_attach(&target, &who, ADEPT_BY_LAUNCH, &done, &why), -EACCES);
	assert_true(done.privileged);
	assert_int_equal(end_of(pid), 1 << 8);
	free_slots();
}

/* A process that cannot be recorded runs natively and is not left stopped. */
static void test_no_slot(void **state)
{
	struct dep_injected done;
	pid_t pid = held_command("/bin/false");

	(void)state;
	for (u32 i = 0; i < target.layout.nprocs; i++)
		slot(i)->state = ADEPT_SLOT_LIVE;
	assert_int_equal(try(pid, &done), -EAGAIN);
	assert_int_equal(end_of(pid), 1 << 8);
	free_slots();
}

/* A signal that the process was about to receive when it was stopped is not lost. */
static void test_signal_at_stop(void **state)
{
	const struct dep_origin from = { .cause = ADEPT_BY_LAUNCH };
	struct dep_stopped how = { .held = true, .sig = SIGUSR1 };
	pid_t pid = held_command("/bin/false");
	struct dep_injected done;
	int status;

	(void)state;
	becomes(pid, 'T');
	assert_int_equal(ptrace(PTRACE_SEIZE, pid, NULL, NULL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(kill(pid, SIGUSR1), 0);
	assert_int_equal(kill(pid, SIGCONT), 0);
	/* Stops of job control come first. */
	while (status >> 8 != SIGUSR1) {
		assert_int_equal(ptrace(PTRACE_CONT, pid, NULL, NULL), 0);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFSTOPPED(status));
	}
	assert_int_equal(dep_inject_stopped(&target, pid, &how, &from, &done, &why), 0);
	assert_int_equal(how.sig, 0);
	assert_int_equal(end_of(pid), SIGUSR1);
	free_slots();
}

/* A child that waits, with a page at @page for whose content nobody asks. */
static pid_t with_absent_page(char *page)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register range = {
		.range = { (u64)(uintptr_t)page, ADEPT_PAGE },
		.mode = UFFDIO_REGISTER_MODE_MISSING,
	};
	pid_t pid = fork();
	int fd;

	if (pid)
		return pid;
	fd = (int)syscall(SYS_userfaultfd, 0);
	if (fd < 0 || ioctl(fd, UFFDIO_API, &api) || ioctl(fd, UFFDIO_REGISTER, &range))
		_exit(1);
	raise(SIGSTOP);
	pause();
	_exit(2);
}

/* The process decides when a page of userfaultfd has content: nothing waits for that. */
static void test_absent_page(void **state)
{
	char *page = mmap(NULL, 2 * ADEPT_PAGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char buf[16] = "content";
	pid_t pid = with_absent_page(page);
	int proc, mem, status;

	(void)state;
	assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
	if (!WIFSTOPPED(status)) {
		munmap(page, 2 * ADEPT_PAGE);
		skip();
	}
	proc = dep_proc_open(pid);
	mem = dep_memory_open(proc);
	assert_true(mem >= 0);
	assert_int_equal(dep_memory_read(mem, (u64)(uintptr_t)page, buf, sizeof(buf)), -EFAULT);
	assert_int_equal(dep_memory_write(mem, (u64)(uintptr_t)page, buf, sizeof(buf)), -EFAULT);
	assert_int_equal(dep_memory_write(mem, (u64)(uintptr_t)page + ADEPT_PAGE, "content", 8), 0);
	assert_int_equal(dep_memory_read(mem, (u64)(uintptr_t)page + ADEPT_PAGE, buf, 8), 0);
	assert_string_equal(buf, "content");
	close(mem);
	close(proc);
	kill(pid, SIGKILL);
	assert_int_equal(end_of(pid), SIGKILL);
	munmap(page, 2 * ADEPT_PAGE);
}

static void test_killed(void **state)
{
	char *argv[] = { (char *)"/bin/sleep", (char *)"100", NULL };
	struct dep_injected done;

	(void)state;
	for (int i = 0; i < 30; i++) {
		const struct timespec later = { 0, i * 60000 };
		pid_t pid = held(argv, NULL), killer;

		becomes(pid, 'T');
		killer = fork();
		if (!killer) {
			nanosleep(&later, NULL);
			kill(pid, SIGKILL);
			_exit(0);
		}
		try(pid, &done);
		end_of(killer);
		assert_int_equal(end_of(pid), SIGKILL);
		free_slots();
	}
}

/* Unused bytes behind the vdso: where its file ends, if all are 0, or the code is there. */
static void test_vdso_room(void **state)
{
	static _Alignas(4096) unsigned char vdso[8192];
	const struct dep_address_space s = { .vdso = (u64)vdso, .vdso_size = sizeof(vdso) };
	Elf64_Ehdr eh = { .e_ident = ELFMAG, .e_phentsize = sizeof(Elf64_Phdr), .e_phnum = 1,
			  .e_phoff = sizeof(eh), .e_shoff = 5000, .e_shnum = 2, .e_shentsize = 64 };
	Elf64_Phdr ph = { .p_type = PT_LOAD, .p_filesz = 4000 };
	const u64 end = (u64)vdso + 5184;	/* 5128 at the next multiple of 64 */
	int mem = open("/proc/self/mem", O_RDWR | O_CLOEXEC);

	(void)state;
	memcpy(vdso, &eh, sizeof(eh));
	memcpy(vdso + sizeof(eh), &ph, sizeof(ph));
	assert_int_equal(dep_vdso_room(mem, &s, "code", 4, 1000), end);
	assert_int_equal(dep_vdso_room(mem, &s, "code", 4, 8192 - 5184), end);
	assert_int_equal(dep_vdso_room(mem, &s, "code", 4, 8192 - 5184 + 1), 0);
	vdso[6183] = 1;
	assert_int_equal(dep_vdso_room(mem, &s, "code", 4, 1000), 0);
	assert_int_equal(dep_vdso_room(mem, &s, "code", 4, 999), end);
	memcpy(vdso + 5184, "code", 4);
	assert_int_equal(dep_vdso_room(mem, &s, "code", 4, 1000), end);
	ph.p_filesz = 8000;
	memcpy(vdso + sizeof(eh), &ph, sizeof(ph));
	assert_int_equal(dep_vdso_room(mem, &s, "code", 4, 1000), 0);
	ph.p_filesz = 1ull << 40;
	memcpy(vdso + sizeof(eh), &ph, sizeof(ph));
	assert_int_equal(dep_vdso_room(mem, &s, "code", 4, 10), 0);
	eh.e_shoff = ~0ull - 10;
	memcpy(vdso, &eh, sizeof(eh));
	assert_int_equal(dep_vdso_room(mem, &s, "code", 4, 10), 0);
	vdso[0] = 0;
	assert_int_equal(dep_vdso_room(mem, &s, "code", 4, 10), 0);
	close(mem);
}

static void copy_proc(int dir, const char *name)
{
	static char buf[1 << 20];
	char path[64];
	size_t n = 0;
	ssize_t got;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/%s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	while ((got = read(fd, buf + n, sizeof(buf) - n)) > 0)
		n += (size_t)got;
	close(fd);
	fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_int_equal(write(fd, buf, n), n);
	close(fd);
}

/* In the middle of an execve the auxiliary vector is empty. */
static void test_middle_of_execve(void **state)
{
	static const char *const files[] = { "maps", "stat", "limits", "auxv" };
	char name[] = "/tmp/adept-test.XXXXXX";
	struct dep_address_space s;
	struct dep_why why;
	int dir, i;

	(void)state;
	assert_non_null(mkdtemp(name));
	dir = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (i = 0; i < 4; i++)
		copy_proc(dir, files[i]);
	assert_int_equal(dep_address_space_read_used(&s, getpid(), dir, &why), 0);
	assert_true(s.vdso && s.vdso_size);
	dep_address_space_free(&s);
	close(openat(dir, "auxv", O_WRONLY | O_TRUNC | O_CLOEXEC));
	assert_int_equal(dep_address_space_read_used(&s, getpid(), dir, &why), -EAGAIN);
	assert_non_null(strstr(why.text, "executes another program; try again"));
	for (i = 0; i < 4; i++)
		unlinkat(dir, files[i], 0);
	close(dir);
	rmdir(name);
}

/* A file with @count sections.  The last one has the name at @name of "\0__rseq_cs". */
static int file_with_section(unsigned int name, unsigned int count)
{
	Elf64_Ehdr eh = { .e_ident = ELFMAG, .e_shentsize = sizeof(Elf64_Shdr),
			  .e_shnum = (u16)count, .e_shstrndx = (u16)(count - 1), .e_shoff = 100 };
	Elf64_Shdr names = { .sh_name = name, .sh_offset = 64 };
	int fd = (int)syscall(SYS_memfd_create, "elf", 0);

	assert_int_equal(pwrite(fd, &eh, sizeof(eh), 0), sizeof(eh));
	assert_int_equal(pwrite(fd, "\0__rseq_cs", 11, 64), 11);
	assert_int_equal(pwrite(fd, &names, sizeof(names),
				(off_t)(100 + (count - 1) * sizeof(names))), sizeof(names));
	return fd;
}

static void test_rseq_section(void **state)
{
	int fd;

	(void)state;
	fd = file_with_section(1, 3);
	assert_true(dep_has_rseq_section(fd));
	assert_int_equal(ftruncate(fd, 250), 0);	/* without its last section */
	assert_false(dep_has_rseq_section(fd));
	close(fd);
	fd = file_with_section(2, 3);			/* "_rseq_cs" */
	assert_false(dep_has_rseq_section(fd));
	close(fd);
	fd = file_with_section(1, 5000);
	assert_false(dep_has_rseq_section(fd));
	close(fd);
	fd = (int)syscall(SYS_memfd_create, "empty", 0);
	assert_false(dep_has_rseq_section(fd));
	close(fd);
}

/* Open the memory of @pid until that fails.  Return: the error, or 0 if @pid has ended before */
static int open_until_ended(pid_t pid)
{
	int proc = dep_proc_open(pid), mem;

	if (proc < 0)
		return 0;
	while ((mem = dep_memory_open(proc)) >= 0)
		close(mem);
	close(proc);
	return mem;
}

/*
 * Processes that end while their memory is opened.  In a small window the kernel's error is that of
 * a file which does not exist.  Where two processes were forked in turn, up to 2 in 100 met it.
 */
static void test_memory_of_ended(void **state)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN }, old;
	int i, j, err, opened = 0;
	pid_t pid[2];

	(void)state;
	/* So that nothing is left of a process that has ended. */
	sigaction(SIGCHLD, &ignore, &old);
	for (i = 0; i < 3000; i++) {
		for (j = 0; j < 2; j++) {
			pid[j] = fork();
			if (!pid[j])
				_exit(0);
		}
		for (j = 0; j < 2; j++) {
			err = open_until_ended(pid[j]);
			opened += err != 0;
			assert_true(!err || err == -ESRCH);
		}
	}
	sigaction(SIGCHLD, &old, NULL);
	assert_true(opened);
}

int test_inject_take(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same),
		cmocka_unit_test(test_same_otherwise),
		cmocka_unit_test(test_same_user),
		cmocka_unit_test(test_blocked),
		cmocka_unit_test(test_signals),
		cmocka_unit_test(test_wrong),
		cmocka_unit_test(test_traced),
		cmocka_unit_test(test_identity),
		cmocka_unit_test(test_no_slot),
		cmocka_unit_test(test_signal_at_stop),
		cmocka_unit_test(test_absent_page),
		cmocka_unit_test(test_killed),
		cmocka_unit_test(test_vdso_room),
		cmocka_unit_test(test_middle_of_execve),
		cmocka_unit_test(test_rseq_section),
		cmocka_unit_test(test_memory_of_ended),
	};

	return cmocka_run_group_tests_name("take", tests, NULL, NULL);
}
