/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The single-step oracle: prints the memory references of a program.
 *
 * It steps one thread with ptrace, decodes each instruction with Zydis and prints the references of
 * completed instructions.  It shares no code with libdep, so both are unlikely to have the same
 * error.
 */
#ifndef STEP_ORACLE_H
#define STEP_ORACLE_H

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>
#include <sys/user.h>

enum ref_type { REF_READ = 1, REF_WRITE = 2, REF_MODIFY = 3 };

/** struct operand - one memory operand of a decoded instruction */
struct operand {
	int64_t disp;
	uint16_t base, index;	/* offset in user_regs_struct, NO_REG; vector: number */
	uint8_t scale, type;
	uint8_t seg;		/* SEG_* */
	uint8_t pop;		/* bytes that a pop has added to rsp before this is used */
	uint16_t size;		/* bytes */
	bool stack;		/* implicit stack operand */
	uint16_t bitreg;	/* bt family: register with the offset, else NO_REG */
};

#define NO_REG		0xffff
#define RIP_REG		0xfffe
enum { SEG_FLAT, SEG_FS, SEG_GS };

enum insn_kind {
	KIND_PLAIN,
	KIND_SYSCALL,		/* syscall, int 0x80, sysenter */
	KIND_INT3,		/* its SIGTRAP is the program's own */
	KIND_ENTER,
	KIND_XLAT,
	KIND_VSIB,
	KIND_MASKED,		/* a vector move of some elements */
	KIND_UNKNOWN,		/* not decodable, or not fetchable: must fault */
};

#define INSN_BRANCH	0x01
#define INSN_REP	0x02
#define INSN_PUSHF	0x04
#define INSN_SHADOW	0x08	/* the debug trap comes one instruction late */
#define INSN_ADDR32	0x10
#define INSN_CPUID	0x20

#define MAX_OPERANDS	4
#define MAX_BYTES	15

/** struct insn - a decoded instruction, with its operands in the order of printing */
struct insn {
	uint64_t pc;
	uint32_t generation;	/* valid while it equals the cache's */
	uint8_t kind, flags;
	uint8_t len, nops;
	bool verify;		/* the bytes may change: compare them before each use */
	uint8_t bytes[MAX_BYTES];
	struct operand op[MAX_OPERANDS];
	/* enter: operand size and level.  VSIB, masked: the elements. */
	uint8_t level, opsize;
	uint8_t index_size, nelem;
	bool evex;
	uint8_t mask;		/* mask register: k (EVEX) or vector */
};

/** struct ref - a reference that an instruction will make if it completes */
struct ref {
	uint64_t addr;
	uint32_t size;
	uint32_t type;
};

#define MAX_REFS	80	/* 64 of enter with 31 levels and some */

/** struct tracee - the stepped program */
struct tracee {
	pid_t pid;
	struct user_regs_struct regs;
	uint64_t steps, refs, blocks, unknown;
	uint64_t vdso_start, vdso_end;
	int sig;		/* of the last signal stop */
	int status;		/* of its end, as from waitpid */
	bool want_blocks, new_block;
	bool pinned;		/* to one processor; the program sees @affinity */
	cpu_set_t affinity;
	bool restart;		/* a system call will be restarted or interrupted */
};

/* decode.c */
void decode_insn(struct insn *in, const uint8_t *bytes, unsigned int avail);

/* code.c: instructions by pc */
int code_init(void);
void code_flush(bool maps_changed);
struct insn *code_get(struct tracee *t, uint64_t pc);

/* refs.c */
unsigned int refs_of(struct tracee *t, const struct insn *in,
		     const struct user_regs_struct *regs, struct ref *refs);

/* step.c */
int trace(struct tracee *t);

/* memory.c */
size_t mem_read(struct tracee *t, uint64_t addr, void *buf, size_t len);
int mem_poke(struct tracee *t, uint64_t addr, const void *buf, size_t len);
int vector_state(struct tracee *t, uint8_t vec[32][64], uint64_t k[8]);

/* print.c */
int print_open(const char *path);
void print_refs(struct tracee *t, uint64_t pc, const struct ref *refs, unsigned int n);
void print_block(struct tracee *t, uint64_t pc);
int print_close(void);

#endif
