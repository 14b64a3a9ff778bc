// SPDX-License-Identifier: GPL-2.0-or-later
/* As sym_c, for what C++ has more: namespaces, templates, classes, std::atomic. */
#include <atomic>

#include "sym_print.h"

#define noinline __attribute__((noinline))

namespace app {

struct Base {
	long first;
	std::atomic<int> refs;
};

template <typename T> class Box : public Base {
public:
	T value;
	std::atomic<T> hits[3];
	static int made;
	inline static long modern = 5;

	noinline int touch(T n)
	{
		value += n;
		mark("touch");				/* MARK touch */
		no_jump();
		return static_cast<int>(value);
	}
};

template <typename T> int Box<T>::made;

Box<long> box;
std::atomic<long> total;
std::atomic_flag flag = ATOMIC_FLAG_INIT;
std::atomic_bool ready;

template <typename F> __attribute__((always_inline)) inline int apply(F f)
{
	return f(3) + 1;				/* MARK apply */
}

namespace {
int hidden[4];

noinline int secret(int n)
{
	auto twice = [](int k) __attribute__((always_inline)) {
		mark("lambda");				/* MARK lambda */
		no_jump();
		return 2 * k;
	};

	hidden[1] = apply(twice) + n;			/* MARK secret */
	return hidden[1];
}
}

int run(int n)
{
	n += box.touch(n);
	n += secret(n);
	show("hidden", &hidden[1]);
	return n;
}

}

namespace other {
/* Not std's. */
template <typename T> struct atomic {
	T value;
};

atomic<int> fake;
}

int main(int argc, char **)
{
	app::Box<long>::made = app::run(argc);
	show("value", &app::box.value);
	show("refs", &app::box.refs);
	show("hits", &app::box.hits[2]);
	show("made", &app::Box<long>::made);
	show("modern", &app::Box<long>::modern);
	show("total", &app::total);
	show("flag", &app::flag);
	show("ready", &app::ready);
	show("fake", &other::fake);
	maps();
	return 0;
}
