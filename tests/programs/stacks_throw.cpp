// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Exceptions through frames with destructors, caught in a loop: stacks_throw [ROUNDS]
 *
 * Suite: stacks
 */
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>

static int depth;

struct guard {
	guard() { depth++; }
	~guard() { depth--; }
};

__attribute__((noipa)) static void leaf(int n)
{
	depth += n & 0;
}

__attribute__((noipa)) static int thrower(int n)
{
	guard g;

	leaf(n);
	if (n & 1)
		throw n;
	return n;
}

__attribute__((noipa)) static void deep(int n)
{
	guard g;
	std::string s(n + 20, 'a');

	if (!n)
		throw std::runtime_error(s);
	deep(n - 1);
	leaf(n);
}

__attribute__((noipa)) static void again(int n)
{
	try {
		deep(n);
	} catch (const std::exception &) {
		leaf(n);
		throw;
	}
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 60, n = 0;

	for (int i = 0; i < rounds; i++) {
		try {
			again(i % 10);
		} catch (const std::exception &e) {
			n += e.what()[0];
		}
		try {
			n += thrower(i);
		} catch (int x) {
			n += x;
		}
		leaf(n);
	}
	printf("%d %d\n", n, depth);
	return 0;
}
