// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Suite: output.  Flags: -pthread -ldl.  Exceptions out of, into and through a shared
 * library that is loaded, called from several threads, and unloaded, again and again.
 *
 * build.sh makes the library from this file, too, with LIBRARY defined.
 */
#include <stdexcept>
#include <string>

struct guard {
	unsigned long *sum;
	int n;
	guard(unsigned long *s, int i) : sum(s), n(i) {}
	~guard() { *sum = *sum * 31 + n; }
};

typedef void callback(unsigned long *sum, int n);
typedef void entry(callback *back, unsigned long *sum, int n);

#ifdef LIBRARY

/* Frames with something to destroy, then @back; throws by itself every other time. */
extern "C" void throw_through(callback *back, unsigned long *sum, int n)
{
	guard g(sum, n);

	if (n % 5) {
		throw_through(back, sum, n - 1);
	} else if (n % 2) {
		throw std::runtime_error(std::to_string(n));
	} else {
		try {
			back(sum, n);
		} catch (const std::logic_error &) {
			*sum += 7;
			throw;
		}
	}
}

#else
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <thread>

static entry *lib;

static void thrower(unsigned long *sum, int n)
{
	guard g(sum, n);

	if (n % 3 == 0)
		throw std::out_of_range("main");
	if (n % 3 == 1)
		throw n;
}

static void work(unsigned long *sum)
{
	for (int i = 0; i < 200; i++) {
		try {
			lib(thrower, sum, i);
		} catch (int n) {
			*sum = *sum * 3 + n;
		} catch (const std::runtime_error &e) {
			*sum = *sum * 5 + std::atoi(e.what());
		} catch (const std::exception &e) {
			*sum = *sum * 7 + e.what()[0];
		}
	}
}

int main(int, char **argv)
{
	std::string path = std::string(argv[0]) + ".so";
	unsigned long sum[3] = { 1, 2, 3 };

	for (int round = 0; round < 5; round++) {
		void *so = dlopen(path.c_str(), RTLD_NOW);

		lib = so ? reinterpret_cast<entry *>(dlsym(so, "throw_through")) : nullptr;
		if (!lib) {
			std::fprintf(stderr, "%s\n", dlerror());
			return 1;
		}
		std::thread a(work, sum), b(work, sum + 1);

		work(sum + 2);
		a.join();
		b.join();
		dlclose(so);
	}
	std::printf("throw_dl %016lx\n", sum[0] ^ sum[1] * 3 ^ sum[2] * 5);
	return 0;
}
#endif
