// SPDX-License-Identifier: LGPL-2.1-or-later
#include <elfutils/libdwelf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "elf_file.h"

#define DEBUG_ROOT "/usr/lib/debug"

static void read_build_id(struct dep_elf *f)
{
	const unsigned char *id;
	const void *bits;
	ssize_t i, n;

	n = dwelf_elf_gnu_build_id(f->elf, &bits);
	if (n <= 0 || (size_t)n * 2 >= sizeof(f->build_id))
		return;
	for (i = 0, id = bits; i < n; i++)
		snprintf(f->build_id + 2 * i, 3, "%02x", id[i]);
}

static bool is_ours(Elf *elf)
{
	GElf_Ehdr eh;

	return elf_kind(elf) == ELF_K_ELF && gelf_getehdr(elf, &eh) &&
	       eh.e_ident[EI_CLASS] == ELFCLASS64 && eh.e_ident[EI_DATA] == ELFDATA2LSB &&
	       eh.e_machine == EM_X86_64 && (eh.e_type == ET_EXEC || eh.e_type == ET_DYN);
}

int dep_elf_open(struct dep_elf *f, const char *path)
{
	struct stat st;
	Elf_Cmd cmd;
	int err;

	*f = (struct dep_elf){ 0 };
	if (elf_version(EV_CURRENT) == EV_NONE)
		return -EINVAL;
	/* Check the type before opening: to open a device or a FIFO can have side effects. */
	if (stat(path, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	f->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (f->fd < 0)
		return -errno;
	err = -EINVAL;
	if (fstat(f->fd, &st) || !S_ISREG(st.st_mode))
		goto out_close;
	f->size = (u64)st.st_size;
	f->mtime_ns = (u64)st.st_mtim.tv_sec * 1000000000 + (u64)st.st_mtim.tv_nsec;
	/* Do not map a file that another user could truncate: access would then raise SIGBUS. */
	cmd = !st.st_uid || st.st_uid == geteuid() ? ELF_C_READ_MMAP : ELF_C_READ;
	f->elf = elf_begin(f->fd, cmd, NULL);
	if (!f->elf || !is_ours(f->elf))
		goto out_end;
	read_build_id(f);
	return 0;

out_end:
	elf_end(f->elf);
out_close:
	close(f->fd);
	*f = (struct dep_elf){ 0 };
	return err;
}

void dep_elf_close(struct dep_elf *f)
{
	if (f->elf) {
		elf_end(f->elf);
		close(f->fd);
	}
	*f = (struct dep_elf){ 0 };
}

Elf_Scn *dep_elf_section(Elf *elf, const char *name, GElf_Shdr *sh)
{
	Elf_Scn *scn = NULL;
	const char *have;
	size_t names;

	if (elf_getshdrstrndx(elf, &names))
		return NULL;
	while ((scn = elf_nextscn(elf, scn))) {
		if (!gelf_getshdr(scn, sh) || sh->sh_type == SHT_NOBITS || !sh->sh_size)
			continue;
		have = elf_strptr(elf, names, sh->sh_name);
		if (have && !strcmp(have, name))
			return scn;
	}
	return NULL;
}

bool dep_elf_has(Elf *elf, const char *name)
{
	GElf_Shdr sh;

	return dep_elf_section(elf, name, &sh);
}

/* Return: the file name in section .gnu_debuglink, or NULL. */
static const char *link_of(Elf *elf)
{
	Elf_Data *d;
	GElf_Shdr sh;
	Elf_Scn *scn = dep_elf_section(elf, ".gnu_debuglink", &sh);
	const char *name;

	d = scn ? elf_rawdata(scn, NULL) : NULL;
	name = d ? d->d_buf : NULL;
	if (!name || !memchr(name, 0, d->d_size) || !*name || strchr(name, '/'))
		return NULL;
	return name;
}

static bool take(struct dep_elf *f, const struct dep_elf *of, const char *path)
{
	if (dep_elf_open(f, path))
		return false;
	if (!strcmp(f->build_id, of->build_id) &&
	    (dep_elf_has(f->elf, ".debug_info") || dep_elf_has(f->elf, ".zdebug_info") ||
	     dep_elf_has(f->elf, ".symtab")))
		return true;
	dep_elf_close(f);
	return false;
}

int dep_elf_open_debug(struct dep_elf *f, const struct dep_elf *of, const char *path)
{
	static const char *const places[] = { "%.*s/%s", "%.*s/.debug/%s",
					      DEBUG_ROOT "%.*s/%s" };
	const char *link, *slash = strrchr(path, '/');
	char name[PATH_MAX + 64];
	size_t i;
	int n;

	if (strlen(of->build_id) < 4)
		return -ENOENT;
	snprintf(name, sizeof(name), DEBUG_ROOT "/.build-id/%.2s/%s.debug", of->build_id,
		 of->build_id + 2);
	if (take(f, of, name))
		return 0;
	link = link_of(of->elf);
	for (i = 0; link && slash && i < sizeof(places) / sizeof(places[0]); i++) {
		n = snprintf(name, sizeof(name), places[i], (int)(slash - path), path, link);
		if (n > 0 && (size_t)n < sizeof(name) && strcmp(name, path) && take(f, of, name))
			return 0;
	}
	return -ENOENT;
}
