// SPDX-License-Identifier: GPL-2.0-or-later
/* Suite: exact.  Flags: -static-pie */
#include "common.h"

int main(int argc, char **argv)
{
	int i;

	for (i = 0; i < argc; i++)
		mix_bytes(argv[i], argv[i][0] == '/' ? 1 : 2);
	puts("hello, world");
	return 0;
}
