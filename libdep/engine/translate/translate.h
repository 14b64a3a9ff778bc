/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Steps of the translator: each adds its part to the fragment under construction (emit/build.h).
 */
#ifndef ADEPT_ENGINE_TRANSLATE_TRANSLATE_H
#define ADEPT_ENGINE_TRANSLATE_TRANSLATE_H

#include "branch_table.h"
#include "code_cache.h"
#include "state_table.h"
#include "libdep/engine/emit/build.h"

/* Functions of scan.c. */
/**
 * build_scan() - decode the instructions of the fragment: fill in ins, runs and exits from b->pc on
 */
void build_scan(struct build *b);

/* Functions of mangle.c. */
/** mangle_needed() - whether an instruction must be rewritten because of gs, r15 or rip */
int mangle_needed(const struct build_insn *bi);
void mangle_insn(struct build *b, unsigned int n);
/** mangle_supported() - whether this instruction can be run from the cache */
int mangle_supported(const struct x86_insn *in);
/**
 * mangle_load_target() - emit code that loads the target of indirect branch @n to rcx
 *
 * rcx and rdx must have been saved.
 */
void mangle_load_target(struct build *b, unsigned int n);
/** mangle_gs() - whether the instruction has a gs-relative ModRM operand */
int mangle_gs(const struct build_insn *bi);
/** mangle_implicit_gs() - whether the instruction has a gs-relative operand without ModRM */
int mangle_implicit_gs(const struct x86_insn *in);

/* Functions of reserved_reg.c. */
/** r15_named() - whether a register field of the instruction is r15 */
int r15_named(const struct x86_insn *in);
/**
 * reserved_reg_plan() - choose scratch registers for the application's r15, for each instruction
 */
void reserved_reg_plan(struct build *b);
/** reserved_reg_load() - before instruction @n and its stores: load r15 to a scratch register */
void reserved_reg_load(struct build *b, unsigned int n);
/** reserved_reg_spill() - after instruction @n, before its later stores: restore the register */
void reserved_reg_spill(struct build *b, unsigned int n);
/**
 * r15_emit_slot_form() - emit instruction @n with r15 replaced by its memory slot in the TLS block
 */
void r15_emit_slot_form(struct build *b, unsigned int n);

/* Functions of commit.c. */
/**
 * build_begin() - start to emit code for @b->pc
 * @a: put the code into this arena, directly after its last code; NULL: choose an arena near @b->pc
 */
void build_begin(struct build *b, struct arena *a);
/** build_commit() - emit the cold part and make the fragment; NULL if a table overflowed */
struct frag *build_commit(struct build *b);

/* Functions of build.c. */
/** build_stub() - begin a fragment without application instructions, which needs only rsp */
struct build *build_stub(u64 pc, struct arena *a);

/* Functions of exits.c. */
/** exits_emit_linkable() - emit a jmp or call that can be linked; returns its rel32 field */
u8 *exits_emit_linkable(struct build *b, u8 opcode);
void exits_emit_branch(struct build *b, unsigned int n, struct build_exit *x);
/** exits_emit_final() - emit the exit after the last instruction */
void exits_emit_final(struct build *b);
/** exits_emit_stubs() - emit the code to which conditional branches exit; it ends the records */
void exits_emit_stubs(struct build *b);
/** exits_emit_thunk() - emit the exit stub of exit @i, which enters the dispatcher with exit @x */
void exits_emit_thunk(struct build *b, u32 i, const struct exit *x);

/* Functions of returns.c. */
/**
 * returns_prepare() - build the shared return path of @pc's arena if there is none
 *
 * Call this before other code is built in the arena, since code that follows a landing stub must be
 * adjacent to the stub.
 */
void returns_prepare(u64 pc);
/** returns_emit() - emit exit @i, a return, by a native ret instruction */
void returns_emit(struct build *b, u32 i);
/**
 * returns_emit_by_jump() - emit a return to rcx by a jump, for ret n and with ADEPT_S_STRICT
 */
void returns_emit_by_jump(struct build *b, u32 i);

/* Functions of call_stub.c. */
/** callsite_init() - initialise the table of call stubs, before a call is translated */
void callsite_init(void);
/** call_stub_direct() - find or build the call stub for exit @x, a direct call */
struct frag *call_stub_direct(const struct exit *x);
/**
 * call_stub_indirect() - find or build the call stub for indirect calls that return to @ret
 * @inlined: 1: the landing stub may fall through into a translation of @ret; 0: it jumps there
 */
struct frag *call_stub_indirect(u64 ret, int inlined);
/**
 * call_stub_rebuild() - replace the call stubs that return to @ret, after its fragment was killed
 */
void call_stub_rebuild(u64 ret);

/* Functions of landing.c. */
void landing_init(void);
/**
 * landing_emit_mismatch_exit() - emit the jump for other targets that precedes a landing stub
 *
 * Does nothing if landing stubs do not use the loop instruction, which branches back to this jump.
 */
void landing_emit_mismatch_exit(struct build *b);
/**
 * landing_emit() - emit a landing stub: if rcx is @b->pc, restore rcx and rdx and fall through
 * @is_return: 1: native returns lead to the stub
 */
void landing_emit(struct build *b, int is_return);
/** landing_emit_mismatch() - emit, in the cold part, the jump to the next stub of the bucket */
void landing_emit_mismatch(struct build *b);
/** landing_place() - get address and literal of the landing stub in @b, which was just committed */
struct landing_place landing_place(const struct build *b);
/**
 * landing_build_tail() - emit what follows the landing stub of @pc: a fragment or a jump to it
 * @after: kind of the stub; AFTER_NOTHING: always emit a jump
 *
 * The stub must be the code that was added to @a last.
 */
void landing_build_tail(u64 pc, struct arena *a, enum after after);
/** landing_renew() - replace the landing stub of jumps to @pc: the fragment after it was killed */
void landing_renew(u64 pc);
/** landing_get() - build the landing stub of indirect branches to @pc if there is none */
void landing_get(u64 pc, int is_return);

#endif
