// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Suite: output.  The words below the stack pointer after returns and indirect jumps.
 *
 * A return leaves its address at rsp - 8, and no branch changes the 128 bytes of the red zone.  The
 * first return to an address differs in the engine from later ones, so there are many addresses.
 * During the returns of a loop, signals arrive all the time.
 *
 * Prints how many words were right; exits with 1 if one was not.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>

#define BLOCKS	64
#define LOOPS	400000

/*
 * Each function returns the number of wrong words.  FILL writes rdx + offset to the words of the
 * red zone, CHECK compares them; the word at \at must be the address in rax, if \at is not 0.
 */
__asm__(
"	.macro	FILL\n"
"	mov	$-128, %rcx\n"
"90:	lea	(%rdx,%rcx), %rsi\n"
"	mov	%rsi, (%rsp,%rcx)\n"
"	add	$8, %rcx\n"
"	jne	90b\n"
"	.endm\n"
"	.macro	CHECK at\n"
"	mov	$-128, %rcx\n"
"91:	lea	(%rdx,%rcx), %rsi\n"
"	cmp	$\\at, %rcx\n"
"	cmove	%rax, %rsi\n"
"	xor	%r9d, %r9d\n"
"	cmp	%rsi, (%rsp,%rcx)\n"
"	setne	%r9b\n"
"	add	%r9, %r8\n"
"	add	$8, %rcx\n"
"	jne	91b\n"
"	.endm\n"
"	.macro	BEGIN name\n"
"	.globl	\\name\n"
"	.type	\\name, @function\n"
"\\name:\n"
"	xor	%r8d, %r8d\n"
"	movabs	$0x5ed2011e00000000, %rdx\n"
"	.endm\n"
"	.macro	RETURN\n"
"	lea	80f(%rip), %rax\n"
"	FILL\n"
"	push	%rax\n"
"	ret\n"
"80:	CHECK	-8\n"
"	.endm\n"
"	.text\n"
"	BEGIN	first_returns\n"
"	.rept	64\n"
"	RETURN\n"
"	.endr\n"
"	mov	%r8, %rax\n"
"	ret\n"
/* ret with an operand */
"	BEGIN	popping_returns\n"
"	.rept	64\n"
"	lea	80f(%rip), %rax\n"
"	FILL\n"
"	lea	-16(%rsp), %rsp\n"
"	push	%rax\n"
"	ret	$16\n"
"80:	CHECK	-24\n"
"	.endr\n"
"	mov	%r8, %rax\n"
"	ret\n"
"	BEGIN	first_jumps\n"
"	.rept	64\n"
"	lea	80f(%rip), %rax\n"
"	FILL\n"
"	jmp	*%rax\n"
"80:	CHECK	0\n"
"	.endr\n"
"	mov	%r8, %rax\n"
"	ret\n"
/* rdi: how often */
"	BEGIN	many_returns\n"
"81:	RETURN\n"
"	dec	%rdi\n"
"	jnz	81b\n"
"	mov	%r8, %rax\n"
"	ret\n");

long first_returns(void), popping_returns(void), first_jumps(void), many_returns(long n);

static void on_alarm(int sig)
{
	(void)sig;
}

static long with_signals(long n)
{
	struct itimerval t = { { 0, 100 }, { 0, 100 } };
	struct sigaction sa;
	long wrong;

	memset(&sa, 0, sizeof(sa));
	sa.sa_handler = on_alarm;
	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &t, NULL);
	wrong = many_returns(n);
	memset(&t, 0, sizeof(t));
	setitimer(ITIMER_REAL, &t, NULL);
	return wrong;
}

static int check(const char *what, long words, long wrong)
{
	printf("%s: %ld of %ld words are right\n", what, words - wrong, words);
	return wrong != 0;
}

int main(void)
{
	int bad = 0;

	bad |= check("first returns", BLOCKS * 16, first_returns());
	bad |= check("the same again", BLOCKS * 16, first_returns());
	bad |= check("returns that pop", BLOCKS * 16, popping_returns());
	bad |= check("first jumps", BLOCKS * 16, first_jumps());
	bad |= check("returns with signals", LOOPS * 16L, with_signals(LOOPS));
	return bad;
}
