// SPDX-License-Identifier: GPL-2.0-or-later
/* Launching with a dummy engine: programs must not notice any difference. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test_inject.h"
#include "tests/programs/dummy_image.h"

struct dep_caller_state native;
struct dep_target target;
struct dep_why why;

static char *environment[] = { (char *)"PATH=/bin:/usr/bin", (char *)"EMPTY=",
			       (char *)"LONG=a b c", NULL };
static char dir[] = "/tmp/test_inject.XXXXXX";
static int saved_stdout, out_file;

/* Path of a file in the folder this test was built in. */
const char *built(const char *name)
{
	static char path[2][PATH_MAX + 64];
	static int turn;
	ssize_t n;

	turn = !turn;
	n = readlink("/proc/self/exe", path[turn], PATH_MAX - 1);
	assert_true(n > 0);
	path[turn][n] = '\0';
	strcpy(strrchr(path[turn], '/') + 1, name);
	return path[turn];
}

void capture_begin(void)
{
	fflush(stdout);
	saved_stdout = fcntl(1, F_DUPFD_CLOEXEC, 60);
	out_file = memfd_create("output", MFD_CLOEXEC);
	assert_true(saved_stdout >= 0 && out_file >= 0);
	dup2(out_file, 1);
}

void capture_end(char *out)
{
	ssize_t n;

	dup2(saved_stdout, 1);
	close(saved_stdout);
	n = pread(out_file, out, OUTPUT_MAX - 1, 0);
	assert_true(n >= 0);
	out[n] = '\0';
	close(out_file);
}

int end_of(pid_t pid)
{
	int status = -1;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

struct adept_proc *slot(u32 i)
{
	return (struct adept_proc *)((char *)target.session + target.layout.proc_off) + i;
}

static bool within(unsigned long addr, u64 start, u64 size)
{
	return addr >= start && addr < start + size;
}

/* Remove the engine's mappings from a listing that contains /proc/self/maps. */
void remove_engine(char *out, const struct adept_boot *b)
{
	char *to = out, *line = out, *next;
	unsigned long a, e;

	for (; *line; line = next) {
		next = strchrnul(line, '\n');
		next += *next == '\n';
		if (sscanf(line, "%lx-%lx ", &a, &e) == 2 &&
		    (within(a, b->image, b->image_size) || within(a, b->low, b->low_size) ||
		     within(a, b->heap, b->heap_size) ||
		     within(a, b->session, target.layout.file_size) ||
		     within(a, b->arena[0], b->arena_size[0]) ||
		     within(a, b->arena[1], b->arena_size[1])))
			continue;
		memmove(to, line, (size_t)(next - line));
		to += next - line;
	}
	*to = '\0';
}

static int run_natively(char *const *argv, char *out)
{
	pid_t pid;

	capture_begin();
	pid = fork();
	if (!pid) {
		personality(ADDR_NO_RANDOMIZE);
		execve(argv[0], argv, environment);
		_exit(99);
	}
	int status = end_of(pid);

	capture_end(out);
	return status;
}

static int run_engine(char *const *argv, u32 flags, char *out, struct dep_injected *done)
{
	struct dep_launch l = { argv, environment, &native, flags };
	int err, status = -1;

	capture_begin();
	err = dep_launch(&target, &l, done, &why);
	if (!err)
		status = end_of(done->pid);
	capture_end(out);
	if (err)
		fail_msg("%s", why.text);
	assert_int_equal(slot(done->proc)->state, ADEPT_SLOT_LIVE);
	assert_int_equal(slot(done->proc)->pid, done->pid);
	slot(done->proc)->state = ADEPT_SLOT_FREE;
	return status;
}

static bool near(u64 a, u64 b)
{
	return (a > b ? a - b : b - a) < (2ull << 30);
}

static void compare(const char *first, const char *second)
{
	static char expect[OUTPUT_MAX], got[OUTPUT_MAX];
	char *argv[] = { (char *)(uintptr_t)first, (char *)(uintptr_t)second, NULL };
	struct dep_injected done;
	int status = run_natively(argv, expect);
	unsigned long entry;

	assert_int_equal(run_engine(argv, DEP_LAUNCH_NO_ASLR, got, &done), status);
	assert_int_equal(WEXITSTATUS(status), 42);
	assert_non_null(strstr(got, "auxv"));
	remove_engine(got, &done.boot);
	assert_string_equal(got, expect);

	assert_true(done.boot.low + done.boot.low_size <= 0x7fff8000);
	assert_true(near(done.boot.arena[0], done.boot.vdso));
	assert_int_equal(sscanf(strstr(got, "auxv 9 "), "auxv 9 %lx", &entry), 1);
	assert_true(near(done.boot.arena[done.boot.arena_size[1] ? 1 : 0], entry));
	/* It must work with random addresses as well. */
	assert_int_equal(run_engine(argv, 0, got, &done), status);
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

static void test_same_no_vdso(void **state)
{
	(void)state;
	target.flags = DEP_T_NO_VDSO;
	compare_all();
	target.flags = 0;
}

static void test_same_no_proc(void **state)
{
	(void)state;
	target.flags = DEP_T_NO_PROC;
	compare_all();
	target.flags = 0;
}

static void test_same_stack_limits(void **state)
{
	static const rlim_t limit[] = { RLIM_INFINITY, 1ull << 30, 64u << 10 };
	struct rlimit old, lim;

	(void)state;
	getrlimit(RLIMIT_STACK, &old);
	lim = old;
	for (size_t i = 0; i < sizeof(limit) / sizeof(limit[0]); i++) {
		if (limit[i] > old.rlim_max)
			continue;
		lim.rlim_cur = limit[i];
		assert_int_equal(setrlimit(RLIMIT_STACK, &lim), 0);
		compare_all();
	}
	setrlimit(RLIMIT_STACK, &old);
}

/* The program gets the saved state, not that of the collector. */
static void test_state(void **state)
{
	static char expect[OUTPUT_MAX], got[OUTPUT_MAX];
	char *argv[] = { (char *)(uintptr_t)built("inject_show_pie"), NULL };
	struct dep_injected done;
	struct rlimit lim, old;
	int status = run_natively(argv, expect), fd;
	sigset_t all, mask;

	(void)state;
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &mask);
	signal(SIGPIPE, SIG_IGN);
	fd = dup(0);
	getrlimit(RLIMIT_NOFILE, &old);
	lim = old;
	lim.rlim_cur = 77;
	setrlimit(RLIMIT_NOFILE, &lim);
	assert_int_equal(run_engine(argv, DEP_LAUNCH_NO_ASLR, got, &done), status);
	setrlimit(RLIMIT_NOFILE, &old);
	close(fd);
	signal(SIGPIPE, SIG_DFL);
	sigprocmask(SIG_SETMASK, &mask, NULL);
	remove_engine(got, &done.boot);
	assert_string_equal(got, expect);
}

static const char *make_file(const char *name, const void *data, size_t size, mode_t mode)
{
	static char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0755);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, size), (ssize_t)size);
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
	return path;
}

static void expect_error(const char *file, int err, const char *text)
{
	char *argv[] = { (char *)(uintptr_t)file, NULL };
	struct dep_launch l = { argv, environment, &native, 0 };
	struct dep_injected done;

	memset(&why, 0, sizeof(why));
	assert_int_equal(dep_launch(&target, &l, &done, &why), -err);
	if (!strstr(why.text, text))
		fail_msg("\"%s\" does not say \"%s\"", why.text, text);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
}

static void test_errors(void **state)
{
	static const unsigned char junk[64] = { 1, 2, 3 };
	Elf64_Ehdr eh = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
			  .e_type = ET_EXEC, .e_machine = EM_X86_64, .e_version = EV_CURRENT,
			  .e_ehsize = sizeof(eh) };
	Elf32_Ehdr eh32 = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS32, ELFDATA2LSB,
					 EV_CURRENT },
			    .e_type = ET_EXEC, .e_machine = EM_386, .e_version = EV_CURRENT,
			    .e_ehsize = sizeof(eh32), .e_phentsize = sizeof(Elf32_Phdr) };

	(void)state;
	expect_error("no-such-command-here", ENOENT, "not found");
	expect_error("/no/such/file", ENOENT, "No such file");
	expect_error("", ENOENT, "empty");
	expect_error("/tmp", EACCES, "is a directory");
	expect_error(make_file("plain", "x", 1, 0644), EACCES, "permission denied");
	expect_error(make_file("short", &eh, 20, 0755), ENOEXEC, "not a valid ELF");
	expect_error(make_file("nophdr", &eh, sizeof(eh), 0755), ENOEXEC, "not a valid ELF");
	expect_error(make_file("elf32", &eh32, sizeof(eh32), 0755), ENOTSUP, "32-bit");
	expect_error(make_file("junk", junk, sizeof(junk), 0755), ENOEXEC, "not an ELF");
	expect_error(make_file("lost", "#!/no/such/sh\n", 14, 0755), ENOENT, "interpreter");
	expect_error(make_file("none", "#! \n", 4, 0755), ENOEXEC, "names no interpreter");
}

static void test_full(void **state)
{
	(void)state;
	for (u32 i = 0; i < target.layout.nprocs; i++)
		slot(i)->state = ADEPT_SLOT_LIVE;
	expect_error("/bin/true", EAGAIN, "slots");
	for (u32 i = 0; i < target.layout.nprocs; i++)
		slot(i)->state = ADEPT_SLOT_FREE;
}

static void expect_output(char *const *argv, const char *text)
{
	static char got[OUTPUT_MAX];
	struct dep_injected done;

	assert_int_equal(run_engine(argv, 0, got, &done), 0);
	assert_string_equal(got, text);
}

static void test_scripts(void **state)
{
	const char *plain = make_file("plain.sh", "echo plain $1\n", 14, 0755);
	char *sh[] = { (char *)(uintptr_t)plain, (char *)"one", NULL };
	char *echo[] = { (char *)"echo", (char *)"from PATH", NULL };

	(void)state;
	expect_output(echo, "from PATH\n");
	expect_output(sh, "plain one\n");
	make_file("plain.sh", "#!/bin/sh\necho bang $1\n", 23, 0755);
	expect_output(sh, "bang one\n");
}

static void test_privileged(void **state)
{
	const char *path = make_file("suid", "#!/bin/sh\n", 10, 0755);
	char *argv[] = { (char *)(uintptr_t)path, NULL };
	struct dep_launch l = { argv, environment, &native, 0 };
	struct dep_injected done;
	char copy[PATH_MAX + 32];

	(void)state;
	assert_int_equal(dep_image_privileged(AT_FDCWD, path), 0);
	assert_int_equal(dep_image_privileged(AT_FDCWD, "/no/such"), -ENOENT);
	if (getuid())
		skip();
	snprintf(copy, sizeof(copy), "cp /bin/true %s", path);
	assert_int_equal(system(copy), 0);
	assert_int_equal(chown(path, 65534, 65534), 0);
	assert_int_equal(chmod(path, 04755), 0);
	if (!dep_image_privileged(AT_FDCWD, path))
		skip();		/* /tmp is mounted nosuid */
	assert_int_equal(dep_launch(&target, &l, &done, &why), 0);
	assert_true(done.native);
	assert_true(done.privileged);
	assert_non_null(strstr(why.text, "privileged"));
	assert_int_equal(end_of(done.pid), 0);
	assert_int_equal(chmod(path, 02755), 0);
	assert_int_equal(dep_image_privileged(AT_FDCWD, path), 1);
	/* Set-group-id without group execution is mandatory locking. */
	assert_int_equal(chmod(path, 02705), 0);
	assert_int_equal(dep_image_privileged(AT_FDCWD, path), 0);
}

static void test_blob_layout(void **state)
{
	(void)state;
	assert_int_equal(offsetof(struct adept_boot, regs), BOOT_REGS);
	assert_int_equal(offsetof(struct adept_boot, rip), BOOT_RIP);
	assert_int_equal(sizeof(struct adept_boot), BOOT_SIZE);
}

static void make_session(void)
{
	struct adept_session h = {
		.magic = ADEPT_SESSION_MAGIC, .version = ADEPT_SESSION_VERSION,
		.chunk_size = 65536, .nchunks = 2, .nprocs = 16, .nthreads = 16,
		.desc_size = 65536, .next_exit = ADEPT_FIRST_EXIT, .next_serial = 1,
		.collector_pid = (u32)getpid(), .retired_off = ADEPT_PAGE,
		.proc_off = 2 * ADEPT_PAGE,
	};
	int fd = memfd_create("adept-session", MFD_CLOEXEC);
	void *p;

	h.thread_off = h.proc_off + h.nprocs * sizeof(struct adept_proc);
	h.desc_off = h.thread_off + h.nthreads * sizeof(struct adept_thread);
	h.desc_off = (h.desc_off + ADEPT_PAGE - 1) & ~(u64)(ADEPT_PAGE - 1);
	h.ring_off = h.desc_off + (u64)h.nprocs * h.desc_size;
	h.file_size = h.ring_off + h.nthreads * h.nchunks * adept_chunk_stride(&h);
	if (ftruncate(fd, (off_t)h.file_size))
		abort();
	p = mmap(NULL, h.desc_off, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		abort();
	memcpy(p, &h, sizeof(h));
	if (dep_target_init(&target, p, fd, &why)) {
		fprintf(stderr, "%s\n", why.text);
		abort();
	}
}

/* A process covers its own privileges, and no others that it lacks or does not know. */
static void test_covers(void **state)
{
	struct dep_base has, needs;

	(void)state;
	assert_int_equal(dep_base_self(&has, &why), 0);
	needs = has;
	assert_true(dep_base_covers(&has, &needs));
	needs.caps |= 1ull << 63;
	assert_false(dep_base_covers(&has, &needs));
	assert_true(dep_base_covers(&needs, &has));
	needs = has;
	needs.uid[2]++;
	assert_false(dep_base_covers(&has, &needs));
	needs = has;
	needs.gid[3]++;
	assert_false(dep_base_covers(&has, &needs));
	needs = has;
	needs.ns_ino++;
	assert_false(dep_base_covers(&has, &needs));
	needs = has;
	needs.label[0] ^= 1;
	assert_false(dep_base_covers(&has, &needs));
	needs = has;
	needs.known = 0;
	assert_false(dep_base_covers(&has, &needs));
	assert_false(dep_base_covers(&needs, &has));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_blob_layout),
		cmocka_unit_test(test_same),
		cmocka_unit_test(test_same_no_vdso),
		cmocka_unit_test(test_same_no_proc),
		cmocka_unit_test(test_same_stack_limits),
		cmocka_unit_test(test_state),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_scripts),
		cmocka_unit_test(test_privileged),
		cmocka_unit_test(test_covers),
	};
	char command[PATH_MAX];
	int failed;

	if (dep_caller_state_save(&native) || !mkdtemp(dir))
		return 1;
	make_session();
	failed = cmocka_run_group_tests_name("launch", tests, NULL, NULL);
	failed += test_inject_follow();
	failed += test_inject_take();
	snprintf(command, sizeof(command), "rm -r %s", dir);
	if (system(command))
		return 1;
	dep_caller_state_free(&native);
	return failed;
}
