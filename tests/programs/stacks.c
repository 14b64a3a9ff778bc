// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Programs whose stacks are hard to follow by calls and returns.
 *
 * Suite: stacks
 *
 *	stacks RANGES CASE...
 *
 * RANGES gets a line "stack BEGIN END" for each stack that a case makes.
 */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "common.h"

#define NOINLINE __attribute__((noipa))

extern char **environ;
static FILE *ranges;
static volatile int sink;

static void tell(const void *p, size_t size)
{
	fprintf(ranges, "stack %lx %lx\n", (unsigned long)p, (unsigned long)p + size);
}

NOINLINE void leaf(int n)
{
	sink += n;
}

NOINLINE void work(int n)
{
	leaf(n);
	leaf(n + 1);
}

/* ---- longjmp ---- */

static jmp_buf jump;

NOINLINE int deep(int n)
{
	work(n);
	if (n)
		return deep(n - 1) + 1;
	if (sink != -1)
		longjmp(jump, 1);
	return 0;
}

static void jumps(void)
{
	volatile int i;

	for (i = 0; i < 200; i++) {
		if (!setjmp(jump))
			deep(i % 20);
		work(i);
	}
}

/* ---- signals ---- */

static sigjmp_buf sigjump;
static volatile int how;

static void handler(int sig)
{
	work(sig);
	if (how == 1)
		siglongjmp(sigjump, 1);
	if (how == 2 && sig == SIGUSR1)
		raise(SIGUSR2);
	work(sig);
}

static void handle(int flags)
{
	struct sigaction act = { .sa_handler = handler, .sa_flags = flags };

	CHECK(!sigaction(SIGUSR1, &act, NULL) && !sigaction(SIGUSR2, &act, NULL));
}

NOINLINE void raiser(int n)
{
	if (n)
		raiser(n - 1);
	else
		raise(SIGUSR1);
	work(n);
}

static void signals(void)
{
	int i;

	handle(0);
	how = 2;
	for (i = 0; i < 50; i++)
		raiser(i % 7);
}

static void leave_handlers(int flags, int count)
{
	volatile int i;

	handle(flags);
	how = 1;
	for (i = 0; i < count; i++) {
		if (!sigsetjmp(sigjump, 1))
			raiser(i % 7);
		work(i);
	}
}

static void siglongjmps(void)
{
	static char stack[65536];
	stack_t alt = { .ss_sp = stack, .ss_size = sizeof(stack) };
	stack_t none = { .ss_flags = SS_DISABLE };
	const char *count = getenv("COUNT");

	tell(stack, sizeof(stack));
	leave_handlers(0, 100);
	CHECK(!sigaltstack(&alt, NULL));
	leave_handlers(SA_ONSTACK, count ? atoi(count) : 200);
	how = 0;
	for (int i = 0; i < 50; i++)
		raiser(i % 7);
	CHECK(!sigaltstack(&none, NULL));
}

/* ---- contexts ---- */

#define STACK 65536
#define COROUTINES 8

static ucontext_t base, coroutine[COROUTINES];

NOINLINE void yield(int i, int depth)
{
	if (depth) {
		yield(i, depth - 1);
		work(depth);
	} else {
		CHECK(!swapcontext(&coroutine[i], &base));
		work(depth);
	}
}

static void coroutine_main(int i)
{
	yield(i, 3);
	work(i);
	yield(i, 5);
}

static void make(int i, char *stack)
{
	CHECK(!getcontext(&coroutine[i]));
	coroutine[i].uc_stack.ss_sp = stack;
	coroutine[i].uc_stack.ss_size = STACK;
	coroutine[i].uc_link = &base;
	makecontext(&coroutine[i], (void (*)(void))coroutine_main, 1, i);
}

static void coroutines(void)
{
	char *stacks = mmap(NULL, COROUTINES * STACK, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int i, round, turn;

	CHECK(stacks != MAP_FAILED);
	for (i = 0; i < COROUTINES; i++)
		tell(stacks + i * STACK, STACK);
	for (round = 0; round < 10; round++) {
		for (i = 0; i < COROUTINES; i++)
			make(i, stacks + (i ^ (round & 1)) * STACK);
		/* In odd rounds the stacks are given to others before the coroutines end. */
		for (turn = 0; turn < 3 - (round & 1); turn++)
			for (i = 0; i < COROUTINES; i++) {
				CHECK(!swapcontext(&base, &coroutine[i]));
				work(i);
			}
	}
	munmap(stacks, COROUTINES * STACK);
}

/* ---- children ---- */

NOINLINE int fork_deep(int n)
{
	int ret;

	if (!n)
		return fork();
	work(n);
	ret = fork_deep(n - 1);
	work(n);
	return ret;
}

static void *thread(void *arg)
{
	work(1);
	if (arg)
		pthread_exit(NULL);
	return NULL;
}

static void children(void)
{
	char *argv[] = { "/bin/true", NULL };
	pid_t pid = fork_deep(50);
	pthread_t t;
	int i;

	work(1);
	if (!pid)
		_exit(0);
	CHECK(waitpid(pid, NULL, 0) == pid);
	pid = vfork();
	if (!pid) {
		work(2);
		_exit(0);
	}
	CHECK(waitpid(pid, NULL, 0) == pid);
	work(3);
	pid = vfork();
	if (!pid) {
		execv("/bin/true", argv);
		_exit(1);
	}
	CHECK(waitpid(pid, NULL, 0) == pid);
	CHECK(!posix_spawn(&pid, "/bin/true", NULL, NULL, argv, environ));
	CHECK(waitpid(pid, NULL, 0) == pid);
	for (i = 0; i < 4; i++) {
		CHECK(!pthread_create(&t, NULL, thread, i & 1 ? &t : NULL));
		pthread_join(t, NULL);
	}
	work(4);
}

/* ---- assembly ---- */

void asm_retpoline(void (*function)(int), int n);
void asm_retpoline_jump(int n, void (*function)(int));
void asm_call_pop(int n);
void asm_push_ret(int n);
void asm_twice(int n);
long asm_ret_imm(int n);
void asm_ring(int n);
void asm_landing(int n);
void asm_switch_stack(void *top, void (*function)(int), int n);
void asm_aligned(int n);
void asm_dynamic(int n, long bytes);
void asm_moved(int n);

__asm__(
"	.text\n"
/* call *%rdi by a retpoline */
"asm_retpoline:\n"
"	push %rbx\n"
"	mov %rdi, %rax\n"
"	mov %esi, %edi\n"
"	call thunk_rax\n"
"	mov $3, %edi\n"
"	call work\n"
"	pop %rbx\n"
"	ret\n"
"thunk_rax:\n"
"	call 2f\n"
"1:	pause\n"
"	lfence\n"
"	jmp 1b\n"
"2:	mov %rax, (%rsp)\n"
"	ret\n"
/* the same as a tail call */
"asm_retpoline_jump:\n"
"	mov %rsi, %rax\n"
"	jmp thunk_rax\n"
"asm_call_pop:\n"
"	push %rbx\n"
"	call 1f\n"
"1:	pop %rbx\n"
"	call work\n"
"	mov $1, %edi\n"
"	call work\n"
"	pop %rbx\n"
"	ret\n"
/* push an address, return to it: in this function, then into another one */
"asm_push_ret:\n"
"	push %rbx\n"
"	push %rdi\n"
"	lea 1f(%rip), %rax\n"
"	push %rax\n"
"	ret\n"
"1:	pop %rdi\n"
"	call work\n"
"	pop %rbx\n"
"	mov $5, %edi\n"
"	lea work(%rip), %rax\n"
"	push %rax\n"
"	ret\n"
/* a prologue out of line: it makes the caller's frame, and moves its return address below that */
"asm_moved:\n"
"	call prologue\n"
"	call work\n"
"	mov %rbp, %rsp\n"
"	pop %rbp\n"
"	mov $6, %edi\n"
"	jmp work\n"
"prologue:\n"
"	pop %rax\n"
"	push %rbp\n"
"	mov %rsp, %rbp\n"
"	sub $64, %rsp\n"
"	push %rax\n"
"	ret\n"
/* a call of the next instruction runs what follows twice */
"asm_twice:\n"
"	sub $8, %rsp\n"
"	call 1f\n"
"	add $8, %rsp\n"
"	ret\n"
"1:	call 2f\n"
"2:	mov $2, %edi\n"
"	sub $8, %rsp\n"
"	call work\n"
"	add $8, %rsp\n"
"	ret\n"
"asm_ret_imm:\n"
"	push %rbx\n"
"	push $1\n"
"	push $2\n"
"	call callee_pops\n"
"	mov $7, %edi\n"
"	call work\n"
"	pop %rbx\n"
"	ret\n"
"callee_pops:\n"
"	push %rbp\n"
"	mov %rsp, %rbp\n"
"	and $-32, %rsp\n"
"	call work\n"
"	leave\n"
"	ret $16\n"
/* three functions that call each other by jumps; each is called once as well */
"asm_ring:\n"
"	push %rdi\n"
"	mov $1, %ecx\n"
"	call ring_a\n"
"	mov $1, %ecx\n"
"	call ring_b\n"
"	mov $1, %ecx\n"
"	call ring_c\n"
"	pop %rcx\n"
"	jmp ring_a\n"
"ring_a:\n"
"	dec %ecx\n"
"	jz ring_end\n"
"	jmp ring_b\n"
"ring_b:\n"
"	dec %ecx\n"
"	jz ring_end\n"
"	jmp *ring_next(%rip)\n"
"ring_c:\n"
"	dec %ecx\n"
"	jz ring_end\n"
"	lea ring_a(%rip), %rax\n"
"	jmp *%rax\n"
"ring_end:\n"
"	mov $9, %edi\n"
"	jmp work\n"
/* thrown past a frame to the address that the frame would return to */
"asm_landing:\n"
"	push %rbx\n"
"	push %rbp\n"
"	sub $8, %rsp\n"
"	mov %rsp, landing_rsp(%rip)\n"
"	call landing_thrower\n"
"1:	mov $4, %edi\n"
"	call work\n"
"	add $8, %rsp\n"
"	pop %rbp\n"
"	pop %rbx\n"
"	ret\n"
"landing_thrower:\n"
"	sub $40, %rsp\n"
"	call landing_inner\n"
"	ud2\n"
"landing_inner:\n"
"	push %rdi\n"
"	call work\n"
"	lea 1b(%rip), %rax\n"
"	mov landing_rsp(%rip), %rcx\n"
"	lea -8(%rcx), %rcx\n"
"	mov %rax, (%rcx)\n"
"	mov %rcx, %rsp\n"
"	ret\n"
/* call a function on another stack */
"asm_switch_stack:\n"
"	push %rbp\n"
"	mov %rsp, %rbp\n"
"	mov %rsi, %rax\n"
"	mov %rdi, %rsp\n"
"	mov %edx, %edi\n"
"	call *%rax\n"
"	mov $8, %edi\n"
"	call work\n"
"	leave\n"
"	ret\n"
/* the stack is aligned by way of r10 */
"asm_aligned:\n"
"	lea 8(%rsp), %r10\n"
"	and $-64, %rsp\n"
"	push -8(%r10)\n"
"	push %rbp\n"
"	mov %rsp, %rbp\n"
"	push %r10\n"
"	sub $72, %rsp\n"
"	call work\n"
"	mov $6, %edi\n"
"	call work\n"
"	add $72, %rsp\n"
"	pop %r10\n"
"	pop %rbp\n"
"	lea -8(%r10), %rsp\n"
"	ret\n"
/* the stack grows by a number that is not known */
"asm_dynamic:\n"
"	push %rbp\n"
"	mov %rsp, %rbp\n"
"	push %rbx\n"
"	sub $8, %rsp\n"
"	sub %rsi, %rsp\n"
"	mov %edi, %ebx\n"
"	call work\n"
"	mov %ebx, %edi\n"
"	call asm_call_pop\n"
"	lea -8(%rbp), %rsp\n"
"	pop %rbx\n"
"	pop %rbp\n"
"	ret\n"
"	.data\n"
"ring_next: .quad ring_c\n"
"landing_rsp: .quad 0\n"
"	.text\n");

static void assembly(void)
{
	char *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int i;

	CHECK(stack != MAP_FAILED);
	tell(stack, STACK);
	for (i = 0; i < 20; i++) {
		asm_retpoline(work, i);
		asm_retpoline_jump(i, work);
		asm_call_pop(i);
		asm_push_ret(i);
		asm_twice(i);
		asm_ret_imm(i);
		asm_landing(i);
		asm_switch_stack(stack + STACK - 64, work, i);
		asm_aligned(i);
		asm_dynamic(i, 64 * i);
		asm_moved(i);
		work(i);
	}
}

static void ring(void)
{
	asm_ring(100000);
	work(1);
}

/* ---- recursion ---- */

NOINLINE int down(int n)
{
	int ret = n ? down(n - 1) : 0;

	leaf(n);
	return ret + 1;
}

static void recursion(void)
{
	CHECK(down(50000) == 50001);
}

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
	{ "jumps", jumps }, { "signals", signals }, { "siglongjmps", siglongjmps },
	{ "coroutines", coroutines }, { "children", children }, { "assembly", assembly },
	{ "ring", ring }, { "recursion", recursion },
};

int main(int argc, char **argv)
{
	const size_t n = sizeof(cases) / sizeof(*cases);
	size_t i;
	int a;

	ranges = argc > 1 ? fopen(argv[1], "w") : tmpfile();
	CHECK(ranges);
	for (i = 0; i < n && argc < 3; i++)
		cases[i].run();
	for (a = 2; a < argc; a++)
		for (i = 0; i < n; i++)
			if (!strcmp(argv[a], cases[i].name))
				cases[i].run();
	CHECK(!fclose(ranges));
	printf("%d\n", sink);
	return 0;
}
