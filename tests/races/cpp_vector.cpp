// SPDX-License-Identifier: GPL-2.0-or-later
/* A std::vector grows while another thread asks for its size: code of a header. */
#include <mutex>
#include <thread>
#include <vector>

#include "races.h"

static std::mutex lock;
static std::vector<int> numbers;

static void first()
{
	std::lock_guard<std::mutex> guard(lock);
	numbers.push_back(1); /* RACE: size */
}

static void second()
{
	nap();
	RIGHT_ONLY(std::lock_guard<std::mutex> guard(lock));
	USE(numbers.size()); /* RACE: size */
}

int main()
{
	std::thread a(first), b(second);
	a.join();
	b.join();
	return 0;
}
