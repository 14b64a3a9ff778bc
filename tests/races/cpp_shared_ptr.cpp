// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The counts of std::shared_ptr are atomic, so the last owner may destroy an object that others
 * used; the racy thread uses it after dropping its reference.
 */
#include <memory>
#include <thread>

#include "races.h"

struct thing {
	int value = 1;
};

static std::shared_ptr<thing> ours, theirs;

static void first()
{
	thing *raw = ours.get();

	RIGHT_ONLY(USE(raw->value));
	ours.reset();
	RACY_ONLY(USE(raw->value)); /* RACE: value */
	tell(1);
}

static void second()
{
	await(1);
	theirs.reset(); /* RACE: value */
}

int main()
{
	ours = std::make_shared<thing>();
	theirs = ours;
	std::thread a(first), b(second);
	a.join();
	b.join();
	return 0;
}
