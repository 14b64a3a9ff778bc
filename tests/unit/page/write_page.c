// SPDX-License-Identifier: GPL-2.0-or-later
/* Write the page of a made-up profile: write_page PROFILE FILE.  Suite page opens it. */
#include <stdio.h>

#include "fake_profile.h"

int main(int argc, char **argv)
{
	int ret;

	if (argc != 3 || !fake_named(argv[1])) {
		fprintf(stderr, "usage: write_page big|hostile|deep|empty FILE\n");
		return 2;
	}
	ret = page_write(fake_input(), argv[2]);
	fake_end();
	return ret ? 1 : 0;
}
