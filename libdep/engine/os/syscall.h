/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ADEPT_ENGINE_OS_SYSCALL_H
#define ADEPT_ENGINE_OS_SYSCALL_H

#include "libdep/engine/base/runtime.h"

/** app_syscall() - make a system call of the application; SYS_ABORTED if a signal came first */
s64 app_syscall(struct tls *t, u64 nr, const u64 args[6]);
/**
 * app_last_syscall() - make a system call of the application that ends all threads if it succeeds
 * @status: status in the end events of the threads
 */
s64 app_last_syscall(struct tls *t, u64 nr, const u64 args[6], u32 status);

/**
 * syscall_handle() - make the system call of @t, which left the code cache by its exit
 *
 * Return: the cache address to continue at; see struct dispatch_handlers.
 */
u8 *syscall_handle(struct tls *t);
/** syscall_record() - record a system call that has returned @ret, and began at t->before */
void syscall_record(struct tls *t, u64 nr, s64 ret);
/**
 * syscall_go_on() - go on with the system call in which @t was when the engine was attached
 *
 * t->resume_pc is after the system call instruction; rax has the kernel's restart code.
 *
 * Return: as syscall_handle().
 */
u8 *syscall_go_on(struct tls *t);

#endif
