// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Suite: output.  So many signals and returns from handlers that chunks end at the
 * events of some of them.
 */
#include <signal.h>

#include "common.h"

#define ROUNDS	50000

static void on_signal(int sig)
{
	mix((unsigned int)sig);
}

int main(void)
{
	struct sigaction sa = { .sa_handler = on_signal };
	int i;

	CHECK(!sigaction(SIGUSR1, &sa, NULL));
	CHECK(!sigaction(SIGUSR2, &sa, NULL));
	for (i = 0; i < ROUNDS; i++)
		CHECK(!raise(i & 1 ? SIGUSR1 : SIGUSR2));
	return finish("signals_many");
}
