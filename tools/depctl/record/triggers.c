// SPDX-License-Identifier: GPL-2.0-or-later
/* The options --on-call and --on-slow: functions whose calls make a snapshot. */
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "tools/depctl/depctl.h"
#include "record.h"

void trigger_parse(struct record_options *o, bool slow, const char *arg,
		   struct argp_state *state)
{
	const char *colon = slow ? strrchr(arg, ':') : NULL;
	size_t n = colon ? (size_t)(colon - arg) : strlen(arg);
	uint32_t i = o->ntriggers;
	uint64_t slow_ns = 0;

	if (slow && (!colon || !parse_time(colon + 1, NULL, &slow_ns)))
		argp_error(state, "--on-slow must be a function and a time, as in 'handle_*:20ms', "
			   "not '%s'", arg);
	if (!n || n >= ADEPT_TRIGGER_GLOB || strcspn(arg, "[]\\") < n)
		argp_error(state, "the name of a function has 1 to %u characters, of which only * "
			   "and ? are special: not '%s'", ADEPT_TRIGGER_GLOB - 1, arg);
	if (i == ADEPT_TRIGGERS)
		argp_error(state, "at most %u of --on-call and --on-slow can be given",
			   ADEPT_TRIGGERS);
	memcpy(o->triggers.of[i].glob, arg, n);
	o->triggers.of[i].slow_ns = slow_ns;
	o->ntriggers++;
}

void triggers_check(struct record_options *o, struct argp_state *state)
{
	if (!o->last_bytes && (o->ntriggers || o->nperf || o->snapshots))
		argp_error(state, "--on-call, --on-slow, --on-perf and --snapshots need --last");
	if (!o->snapshots)
		o->snapshots = SNAPSHOTS_DEFAULT;
}

/* ---- functions of the command's file that are not in its dynamic symbols ---- */

static int open_command(const struct record_options *o)
{
	const char *path = getenv("PATH"), *end;
	char name[PATH_MAX];
	int fd = -1;

	if (o->pid) {
		snprintf(name, sizeof(name), "/proc/%d/exe", o->pid);
		return open(name, O_RDONLY | O_CLOEXEC);
	}
	if (strchr(o->argv[0], '/'))
		return open(o->argv[0], O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	for (; path && *path && fd < 0; path = *end ? end + 1 : end) {
		end = strchrnul(path, ':');
		snprintf(name, sizeof(name), "%.*s/%s", (int)(end - path), path, o->argv[0]);
		if (!access(name, X_OK))
			fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	}
	return fd;
}

static bool file_offset(Elf *elf, uint64_t address, uint64_t *offset)
{
	size_t n, i;
	GElf_Phdr p;

	if (elf_getphdrnum(elf, &n))
		return false;
	for (i = 0; i < n; i++) {
		if (!gelf_getphdr(elf, (int)i, &p) || p.p_type != PT_LOAD ||
		    address - p.p_vaddr >= p.p_filesz)
			continue;
		*offset = address - p.p_vaddr + p.p_offset;
		return true;
	}
	return false;
}

/* Add the function if it matches a trigger. Return: false if there is no room. */
static bool add_function(struct adept_triggers *t, uint64_t offset, const char *name)
{
	uint32_t i;

	for (i = 0; i < ADEPT_TRIGGERS && *t->of[i].glob; i++) {
		if (fnmatch(t->of[i].glob, name, 0))
			continue;
		if (t->nplaces == ADEPT_TRIGGER_PLACES)
			return false;
		t->place[t->nplaces].offset = offset;
		t->place[t->nplaces++].number = i;
		return true;
	}
	return true;
}

static bool add_symbols(struct adept_triggers *t, Elf *elf, Elf_Scn *section)
{
	Elf_Data *data = elf_getdata(section, NULL);
	const char *name;
	uint64_t offset;
	GElf_Shdr h;
	GElf_Sym s;
	size_t i, n;

	if (!data || !gelf_getshdr(section, &h) || !h.sh_entsize)
		return true;
	n = h.sh_size / h.sh_entsize;
	for (i = 0; i < n; i++) {
		if (!gelf_getsym(data, (int)i, &s) || GELF_ST_TYPE(s.st_info) != STT_FUNC ||
		    s.st_shndx == SHN_UNDEF || !file_offset(elf, s.st_value, &offset))
			continue;
		name = elf_strptr(elf, h.sh_link, s.st_name);
		if (name && !add_function(t, offset, name))
			return false;
	}
	return true;
}

int triggers_find(struct record_options *o)
{
	struct adept_triggers *t = &o->triggers;
	int fd = o->ntriggers ? open_command(o) : -1;
	Elf_Scn *section = NULL;
	bool fits = true;
	GElf_Shdr h;
	struct stat st;
	Elf *elf;

	/* A file that is missing or not ELF: the launch says so, or functions are in libraries. */
	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		if (fd >= 0)
			close(fd);
		return 0;
	}
	t->dev = (uint64_t)major(st.st_dev) << 32 | minor(st.st_dev);
	t->inode = st.st_ino;
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	while (elf && fits && (section = elf_nextscn(elf, section)))
		if (gelf_getshdr(section, &h) && h.sh_type == SHT_SYMTAB)
			fits = add_symbols(t, elf, section);
	elf_end(elf);
	close(fd);
	if (!fits)
		warn("--on-call and --on-slow name more than %u functions of %s: use narrower "
		     "patterns", ADEPT_TRIGGER_PLACES, o->argv[0]);
	return fits ? 0 : -1;
}
