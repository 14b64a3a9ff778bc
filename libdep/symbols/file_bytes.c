// SPDX-License-Identifier: LGPL-2.1-or-later
/* Bytes of a mapped file by their linked address. */
#include <unistd.h>

#include "internal.h"

const struct dep_load *dep_image_load(const struct dep_image *im, u64 vaddr)
{
	const struct dep_load *l, *best = NULL;
	u32 i;

	for (i = 0; i < im->nloads; i++) {
		l = &im->load[i];
		if (vaddr >= l->vaddr && vaddr - l->vaddr < l->filesz &&
		    vaddr - l->vaddr < l->memsz && (!best || l->exec))
			best = l;
	}
	return best;
}

size_t dep_image_bytes(const struct dep_image *im, u64 vaddr, void *out, size_t size)
{
	const struct dep_load *l = dep_image_load(im, vaddr);
	u64 skip, have;
	ssize_t n;

	if (!l)
		return 0;
	skip = vaddr - l->vaddr;
	have = (l->filesz < l->memsz ? l->filesz : l->memsz) - skip;
	n = pread(im->main.fd, out, size < have ? size : (size_t)have, (off_t)(l->offset + skip));
	return n > 0 ? (size_t)n : 0;
}
