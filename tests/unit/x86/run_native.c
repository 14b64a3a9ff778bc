// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>
#include <sys/mman.h>

#include "run_native.h"

/*
 * One mapping: a page of code, a page of data that the code addresses relative to
 * rip, then scratch memory.  The instruction's registers include rsp, so nothing
 * may use the stack between loading and storing them.
 */
#define PAGE		4096u
#define AT_IN		(PAGE + 0)
#define AT_OUT		(PAGE + 256)
#define AT_RSP		(PAGE + 512)
#define AT_INSN		1024u		/* in the code page */

static u8 *base;
static unsigned int at;

static void byte(unsigned int b)
{
	base[at++] = b;
}

/* opcode with ModRM [rip + target], 64 bits */
static void rip_op(unsigned int opcode, unsigned int reg, unsigned int target)
{
	s32 disp;

	byte(0x48 | (reg >> 3) << 2);
	byte(opcode);
	byte((reg & 7) << 3 | 5);
	disp = (s32)target - (s32)(at + 4);
	memcpy(base + at, &disp, 4);
	at += 4;
}

static void prologue(void)
{
	static const u8 save[] = { 0x53, 0x55, 0x41, 0x54, 0x41, 0x55, 0x41, 0x56, 0x41, 0x57 };
	unsigned int reg;

	for (reg = 0; reg < sizeof(save); reg++)
		byte(save[reg]);
	rip_op(0x89, 4, AT_RSP);
	rip_op(0x8b, 0, AT_IN + 128);
	byte(0x50);	/* push rax; popfq */
	byte(0x9d);
	for (reg = 0; reg < 16; reg++)
		rip_op(0x8b, reg, AT_IN + 8 * reg);
}

static void epilogue(void)
{
	static const u8 restore[] = { 0x41, 0x5f, 0x41, 0x5e, 0x41, 0x5d, 0x41, 0x5c,
				      0x5d, 0x5b, 0xfc, 0xc3 };
	unsigned int reg;

	for (reg = 0; reg < 16; reg++)
		rip_op(0x89, reg, AT_OUT + 8 * reg);
	rip_op(0x8b, 4, AT_RSP);
	byte(0x9c);	/* pushfq; pop rax */
	byte(0x58);
	rip_op(0x89, 0, AT_OUT + 128);
	for (reg = 0; reg < sizeof(restore); reg++)
		byte(restore[reg]);
}

int native_init(void)
{
	base = mmap(NULL, 2 * PAGE + 2 * NATIVE_STACK, PROT_READ | PROT_WRITE | PROT_EXEC,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (base == MAP_FAILED)
		return -1;
	memset(base, 0x90, PAGE);
	prologue();
	at = AT_INSN + 16;
	epilogue();
	return 0;
}

u64 native_scratch(void)
{
	return (u64)base + 2 * PAGE + NATIVE_STACK;
}

u64 native_pc(void)
{
	return (u64)base + AT_INSN;
}

void native_run(const u8 *code, unsigned int len, const struct native_regs *in,
		struct native_regs *out)
{
	void (*run)(void) = (void (*)(void))(uintptr_t)base;

	memset(base + AT_INSN, 0x90, 16);
	memcpy(base + AT_INSN, code, len);
	memcpy(base + AT_IN, in, sizeof(*in));
	run();
	memcpy(out, base + AT_OUT, sizeof(*out));
}
