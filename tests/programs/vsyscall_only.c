// SPDX-License-Identifier: GPL-2.0-or-later
/* Suite: exact.  Flags: -static.  A call into the vsyscall page between ordinary code. */
#include <string.h>
#include <time.h>

#include "common.h"

int main(void)
{
	time_t (*vtime)(time_t *) = (time_t (*)(time_t *))0xffffffffff600400;
	time_t t = 0;
	int i;

	for (i = 0; i < 5; i++) {
		CHECK(vtime(&t) == t && t > 1000000000);
		mix(i);
	}
	return finish("vsyscall_only");
}
