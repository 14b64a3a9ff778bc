// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Write a page: its head, the data, its tail.  Head and tail are made when depctl is built, see
 * build.sh.
 */
#include <string.h>

#include "tools/depctl/common/save.h"
#include "tools/depctl/depctl.h"
#include "model.h"

extern const char page_head[], page_head_end[], page_tail[], page_tail_end[];

static int write_page(const struct page_input *in, int fd)
{
	struct out o;
	int ret;

	out_begin(&o);
	o.fd = fd;
	out_block(&o, page_head, page_head_end - page_head);
	ret = page_data_write(in, &o);
	out_block(&o, page_tail, page_tail_end - page_tail);
	out_flush(&o);
	return ret ? ret : -o.error;
}

int page_write(const struct page_input *in, const char *path)
{
	struct save save;
	int ret;

	if (save_begin(&save, path))
		return 1;
	ret = write_page(in, save.fd);
	if (ret)
		warn("cannot write the page to %s: %s", path, strerror(-ret));
	return save_end(&save, !!ret);
}
