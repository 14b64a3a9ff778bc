// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Suite: exact.  Exceptions through frames with destructors, through qsort and a handler.
 * Flags: -static-libstdc++ -static-libgcc
 * With a shared libstdc++ the oracle would mostly step through the loader; throw_dl has one.
 */
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

static unsigned long sum = 1;

struct guard {
	int n;
	explicit guard(int i) : n(i) {}
	~guard() { sum = sum * 31 + n; }
};

static __attribute__((noinline)) int thrower(int n, int kind)
{
	guard g(n);

	if (n)
		return thrower(n - 1, kind) + 1;
	switch (kind) {
	case 0:
		throw kind;
	case 1:
		throw std::runtime_error("one");
	case 2:
		return std::vector<int>(3).at(5);
	default:
		throw std::string("more");
	}
}

static int compare(const void *a, const void *b)
{
	if (*static_cast<const int *>(a) == 7)
		throw 7;
	return *static_cast<const int *>(a) - *static_cast<const int *>(b);
}

static int rethrow(int depth, int kind)
{
	try {
		return thrower(depth, kind);
	} catch (const std::exception &) {
		sum += 5;
		throw;
	}
}

int main()
{
	int v[] = { 3, 1, 7, 2, 9, 4 };

	for (int i = 0; i < 8; i++) {
		try {
			sum += rethrow(i % 7, i % 4);
		} catch (int n) {
			sum = sum * 3 + n;
		} catch (const std::out_of_range &) {
			sum = sum * 5 + 1;
		} catch (const std::exception &e) {
			sum = sum * 7 + e.what()[0];
		} catch (const std::string &s) {
			sum = sum * 11 + s.size();
		}
	}
	try {
		qsort(v, 6, sizeof(*v), compare);
	} catch (int n) {
		sum += n;
	}
	std::printf("throw_cpp %016lx\n", sum);
	return 0;
}
