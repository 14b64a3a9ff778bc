// SPDX-License-Identifier: GPL-2.0-or-later
// Functions that are left in every way that paths can end, and one whose paths are known.
#include <sys/wait.h>
#include <unistd.h>

#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <thread>

static jmp_buf env;
static sigjmp_buf fault;
static volatile int handled, sink;

static void handle(int) { handled++; }
static void leave(int) { siglongjmp(fault, 1); }

__attribute__((noinline)) static int odd_throws(int n)
{
	if (n % 2)
		throw std::runtime_error("odd");
	return n;
}

__attribute__((noinline)) static int catches(int n)
{
	int sum = 0;

	for (int i = 0; i < n; i++) {
		try {
			sum += odd_throws(i);
		} catch (std::exception &) {
			sum--;
		}
	}
	return sum;
}

__attribute__((noinline)) static void jumps(int n)
{
	if (n > 3)
		longjmp(env, n);
	jumps(n + 1);
	sink = n;
}

// 100 calls: 25 go one way, 75 the other, and both parts meet in a call.
extern "C" __attribute__((noinline)) void two_ways(int n)
{
	if (n % 4)
		sink = sink + n;
	else
		sink = sink - n;
	handle(n);
	sink = sink + 1;
}

static void child(int how)
{
	sink = catches(3);
	if (how == 1)
		raise(SIGKILL);
	if (how == 2)
		abort();
	exit(0);
}

static void loop(int n)
{
	for (volatile int i = 0; i < n; i++)
		if (i % 7 == 0)
			getppid();
}

int main()
{
	volatile int i;

	for (i = 0; i < 100; i++)
		two_ways(i);
	sink = catches(40);
	for (i = 0; i < 20; i++)
		if (!setjmp(env))
			jumps(i % 3);
	signal(SIGUSR1, handle);
	for (i = 0; i < 10; i++)
		raise(SIGUSR1);
	signal(SIGSEGV, leave);
	for (i = 0; i < 5; i++)
		if (!sigsetjmp(fault, 1))
			*(volatile int *)8 = 1;
	std::thread a(loop, 1000), b(loop, 999);
	a.join();
	b.join();
	for (i = 0; i < 3; i++) {
		if (!fork())
			child(i);
		wait(nullptr);
	}
	return 0;
}
