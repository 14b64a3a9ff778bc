// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Suite: output.  Calls at the beginning of a function, and where an indirect jump leads, whose
 * push of the return address faults; the handler sees the call's address and the stack pointer
 * before it.
 */
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "common.h"

extern char call_in_function[], call_after_jump[];
void push_in_function(char *stack);
void push_after_jump(char *stack);

/* Both set the stack pointer to @stack for the call, which the handler skips. */
asm("	.text\n"
    "push_in_function:\n"
    "	mov %rsp, %rax\n"
    "	lea 8(%rdi), %rsp\n"
    "	call call_in_function\n"
    "	mov %rax, %rsp\n"
    "	ret\n"
    "call_in_function:\n"
    "	call nothing\n"
    "	ret\n"
    "push_after_jump:\n"
    "	mov %rsp, %rax\n"
    "	mov %rdi, %rsp\n"
    "	lea call_after_jump(%rip), %rcx\n"
    "	jmp *%rcx\n"
    "call_after_jump:\n"
    "	call nothing\n"
    "	mov %rax, %rsp\n"
    "nothing:\n"
    "	ret\n");

#define CALL_LEN	5

static char *stack, *want;
static int hits;

static void handler(int sig, siginfo_t *si, void *arg)
{
	ucontext_t *uc = arg;
	greg_t *r = uc->uc_mcontext.gregs;

	CHECK(sig == SIGSEGV && si->si_addr == stack - 8);
	CHECK((char *)r[REG_RIP] == want);
	CHECK((char *)r[REG_RSP] == stack);
	r[REG_RIP] += CALL_LEN;
	hits++;
}

int main(void)
{
	struct sigaction sa = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_ONSTACK };
	static char other[65536];
	const stack_t ss = { .ss_sp = other, .ss_size = sizeof(other) };
	int i;

	stack = mmap(NULL, 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(stack != MAP_FAILED);
	stack += 4096;
	CHECK(!mprotect(stack, 4096, PROT_READ | PROT_WRITE));
	CHECK(!sigaltstack(&ss, NULL) && !sigaction(SIGSEGV, &sa, NULL));
	for (i = 0; i < 20; i++) {
		want = call_in_function;
		push_in_function(stack);
		want = call_after_jump;
		push_after_jump(stack);
	}
	CHECK(hits == 40);
	mix(hits);
	return finish("signals_call");
}
