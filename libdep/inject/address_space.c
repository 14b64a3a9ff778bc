// SPDX-License-Identifier: LGPL-2.1-or-later
/* Reads the address space of a process from /proc. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "internal.h"

#define MAX_MAPS 65536

static int insert(struct dep_address_space *s, const struct dep_map *m)
{
	size_t i = s->n;

	if (s->n == s->cap) {
		size_t cap = s->cap ? 2 * s->cap : 64;
		struct dep_map *map;

		if (cap > MAX_MAPS)
			return -E2BIG;
		map = realloc(s->map, cap * sizeof(*map));
		if (!map)
			return -ENOMEM;
		s->map = map;
		s->cap = cap;
	}
	while (i && s->map[i - 1].start > m->start)
		i--;
	memmove(s->map + i + 1, s->map + i, (s->n - i) * sizeof(*s->map));
	s->map[i] = *m;
	s->n++;
	return 0;
}

int dep_address_space_add(struct dep_address_space *s, u64 start, u64 end)
{
	struct dep_map m = { .start = start, .end = end };

	return insert(s, &m);
}

static bool parse_map(const char *line, struct dep_map *m)
{
	unsigned long long start, end, ino;
	unsigned int major, minor;
	char perms[5];

	if (sscanf(line, "%llx-%llx %4s %*x %x:%x %llu", &start, &end, perms, &major, &minor,
		   &ino) != 6 || start >= end)
		return false;
	m->start = start;
	m->end = end;
	m->dev = makedev(major, minor);
	m->ino = ino;
	m->exec = perms[2] == 'x';
	return true;
}

/*
 * Keep the lines of /proc/PID/maps for code, the first page of files, shared memory and the stack.
 * A name that does not fit is cut.
 */
static int keep_line(struct dep_address_space *s, const char *line)
{
	unsigned long long offset, ino;
	char perms[5];
	size_t len = strlen(line);
	int named;

	if (sscanf(line, "%*x-%*x %4s %llx %*x:%*x %llu %n", perms, &offset, &ino, &named) != 3)
		return 0;
	if (perms[2] != 'x' && perms[3] != 's' && (!ino || offset) && !strstr(line, "[stack]"))
		return 0;
	if (s->text_len + len >= DEP_ADDRESS_SPACE_TEXT)
		len = (size_t)named;
	if (s->text_len + len + 1 >= DEP_ADDRESS_SPACE_TEXT)
		return -E2BIG;
	if (!s->text)
		s->text = malloc(DEP_ADDRESS_SPACE_TEXT);
	if (!s->text)
		return -ENOMEM;
	memcpy(s->text + s->text_len, line, len);
	s->text_len += len;
	if (s->text[s->text_len - 1] != '\n')
		s->text[s->text_len++] = '\n';
	return 0;
}

static int read_maps(struct dep_address_space *s, int proc, bool text)
{
	FILE *f = dep_proc_file(proc, "maps");
	char *line = NULL;
	size_t size = 0;
	struct dep_map m;
	int err = 0;

	if (!f)
		return -errno;
	/* The kernel returns a page at most. */
	setvbuf(f, NULL, _IOFBF, ADEPT_PAGE);
	while (!err && getline(&line, &size, f) > 0) {
		if (parse_map(line, &m))
			err = insert(s, &m);
		if (!err && text)
			err = keep_line(s, line);
	}
	if (!err && !s->n)
		err = -ESRCH;
	free(line);
	fclose(f);
	return err;
}

/**
 * dep_address_space_has_file() - does a process map this file?
 *
 * Return: 1, 0 or a negative errno.
 */
int dep_address_space_has_file(pid_t pid, u64 dev, u64 ino)
{
	int proc = dep_proc_open(pid), ret = proc;
	struct dep_address_space s = { 0 };

	if (proc >= 0) {
		ret = read_maps(&s, proc, false);
		close(proc);
	}
	for (size_t i = 0; !ret && i < s.n; i++)
		ret = s.map[i].ino == ino && s.map[i].dev == dev;
	dep_address_space_free(&s);
	return ret;
}

static int read_auxv(struct dep_address_space *s, int proc)
{
	FILE *f = dep_proc_file(proc, "auxv");
	u64 pair[2];

	if (!f)
		return -errno;
	while (fread(pair, sizeof(pair), 1, f) == 1) {
		if (pair[0] == AT_ENTRY)
			s->entry = pair[1];
		else if (pair[0] == AT_BASE)
			s->base = pair[1];
		else if (pair[0] == AT_SYSINFO_EHDR)
			s->vdso = pair[1];
	}
	fclose(f);
	return 0;
}

/*
 * Return: field number @wanted of the /proc/PID/stat line @p. Field 2, the name in parentheses, may
 * contain blanks.
 */
static u64 stat_field(char *p, int wanted)
{
	p = strrchr(p, ')');
	for (int field = 2; p && field < wanted; field++)
		p = strchr(p + 1, ' ');
	return p ? strtoull(p, NULL, 10) : 0;
}

static int read_stat(struct dep_address_space *s, int proc)
{
	FILE *f = dep_proc_file(proc, "stat");
	char buf[2048];
	size_t n;

	if (!f)
		return -errno;
	n = fread(buf, 1, sizeof(buf) - 1, f);
	fclose(f);
	buf[n] = '\0';
	s->start_stack = stat_field(buf, 28);
	s->brk = stat_field(buf, 47);
	return 0;
}

static bool is_memory_limit(const char *line)
{
	return !strncmp(line, "Max data size ", 14) || !strncmp(line, "Max address space ", 18);
}

/*
 * Read from /proc: prlimit(2) requires more privileges than ptrace for a process of another user.
 * The text "unlimited" is not parsed as a number and leaves RLIM_INFINITY.
 */
static int read_limits(struct dep_address_space *s, int proc)
{
	FILE *f = dep_proc_file(proc, "limits");
	unsigned long long soft, hard;
	char line[256];
	int n;

	if (!f)
		return -errno;
	s->stack_limit = s->data_limit = s->data_hard_limit = RLIM_INFINITY;
	s->unlimited = true;
	while (fgets(line, sizeof(line), f)) {
		if (is_memory_limit(line))
			s->unlimited &= !!strstr(line, "unlimited            unlimited");
		if (sscanf(line, "Max stack size %llu", &soft) == 1)
			s->stack_limit = soft;
		n = sscanf(line, "Max data size %llu %llu", &soft, &hard);
		if (n >= 1)
			s->data_limit = soft;
		if (n == 2)
			s->data_hard_limit = hard;
	}
	fclose(f);
	return 0;
}

const struct dep_map *dep_address_space_find(const struct dep_address_space *s, u64 addr)
{
	for (size_t i = 0; i < s->n; i++)
		if (addr >= s->map[i].start && addr < s->map[i].end)
			return &s->map[i];
	return NULL;
}

u64 dep_address_space_end(const struct dep_address_space *s, u64 addr)
{
	size_t lo = 0, hi = s->n, mid;

	while (lo < hi) {
		mid = (lo + hi) / 2;
		if (s->map[mid].end <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < s->n && s->map[lo].start <= addr ? s->map[lo].end : 0;
}

bool dep_address_space_is_free(const struct dep_address_space *s, u64 start, u64 end)
{
	if (start >= end)
		return false;
	for (size_t i = 0; i < s->n; i++)
		if (start < s->map[i].end && end > s->map[i].start)
			return false;
	return true;
}

/* Find the program's code only: mappings next to it can be a heap of any size. */
static void find_program_code(struct dep_address_space *s)
{
	const struct dep_map *m = dep_address_space_find(s, s->entry);

	if (!m)
		return;
	s->prog_lo = m->start;
	s->prog_hi = m->end;
	for (size_t i = 0; i < s->n; i++) {
		const struct dep_map *o = &s->map[i];

		if (!o->exec || !m->ino || o->ino != m->ino || o->dev != m->dev)
			continue;
		if (o->start < s->prog_lo)
			s->prog_lo = o->start;
		if (o->end > s->prog_hi)
			s->prog_hi = o->end;
	}
}

/* The mappings that begin at brk are the heap. */
static void find_heap_end(struct dep_address_space *s)
{
	const struct dep_map *m;

	while ((m = dep_address_space_find(s, s->brk)))
		s->brk = m->end;
}

/* The program: all mappings of the file with the entry point, and its bss. */
static void find_program(struct dep_address_space *s)
{
	const struct dep_map *m = dep_address_space_find(s, s->entry);

	if (!m)
		return;
	s->prog_lo = m->start;
	s->prog_hi = m->end;
	for (size_t i = 0; i < s->n; i++) {
		const struct dep_map *o = &s->map[i];

		if (m->ino && o->ino == m->ino && o->dev == m->dev) {
			if (o->start < s->prog_lo)
				s->prog_lo = o->start;
			if (o->end > s->prog_hi)
				s->prog_hi = o->end;
		} else if (!o->ino && o->start == s->prog_hi) {
			s->prog_hi = o->end;
		}
	}
}

static int read_proc(struct dep_address_space *s, pid_t pid, int proc, struct dep_why *why)
{
	int err;

	err = read_maps(s, proc, true);
	if (!err)
		err = read_auxv(s, proc);
	if (!err)
		err = read_stat(s, proc);
	if (!err)
		err = read_limits(s, proc);
	if (!err)
		return 0;
	dep_address_space_free(s);
	return dep_inject_error(why, -err, "The memory map of process %d cannot be read: %s.", pid,
				strerror(-err));
}

static int complete(struct dep_address_space *s, pid_t pid, const struct dep_map *stack,
		    struct dep_why *why)
{
	const struct dep_map *vdso = dep_address_space_find(s, s->vdso);

	s->vdso_size = vdso ? vdso->end - s->vdso : 0;
	if (!s->vdso_size)
		s->vdso = 0;
	if (stack && s->prog_hi) {
		s->stack_lo = stack->start;
		return 0;
	}
	dep_address_space_free(s);
	/* The kernel stops in the middle if the process ceases to be dumpable. */
	if (s->in_use)
		return dep_inject_error(why, EAGAIN, "The memory map of process %d could be read "
					"in part only; try again.", pid);
	return dep_inject_error(why, ENOEXEC, "The memory map of process %d is invalid.", pid);
}

/**
 * dep_address_space_read() - read the address space of a process stopped at its first instruction
 * @rsp: its stack pointer
 */
int dep_address_space_read(struct dep_address_space *s, pid_t pid, int proc, u64 rsp,
			   struct dep_why *why)
{
	int err;

	memset(s, 0, sizeof(*s));
	err = read_proc(s, pid, proc, why);
	if (err)
		return err;
	find_program(s);
	return complete(s, pid, dep_address_space_find(s, rsp), why);
}

int dep_address_space_read_again(struct dep_address_space *s, pid_t pid, int proc,
				 struct dep_why *why)
{
	int err;

	free(s->text);
	s->text = NULL;
	s->text_len = s->n = 0;
	err = read_maps(s, proc, true);
	if (!err)
		err = read_limits(s, proc);
	return err ? dep_inject_error(why, -err, "The memory map of process %d cannot be read: %s.",
				      pid, strerror(-err)) : 0;
}

int dep_executes(pid_t pid, struct dep_why *why)
{
	return dep_inject_error(why, EAGAIN, "Process %d executes another program; try again.",
				pid);
}

int dep_address_space_read_used(struct dep_address_space *s, pid_t pid, int proc,
				struct dep_why *why)
{
	int err;

	*s = (struct dep_address_space){ .in_use = true };
	err = read_proc(s, pid, proc, why);
	if (err)
		return err;
	/* The kernel writes the auxiliary vector at the end of an execve. */
	if (!s->entry) {
		dep_address_space_free(s);
		return dep_executes(pid, why);
	}
	find_program_code(s);
	find_heap_end(s);
	return complete(s, pid, dep_address_space_find(s, s->start_stack), why);
}

void dep_address_space_free(struct dep_address_space *s)
{
	free(s->text);
	free(s->map);
	s->text = NULL;
	s->map = NULL;
	s->n = 0;
	s->cap = 0;
}
