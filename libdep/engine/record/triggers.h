/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Triggers: functions whose calls, or slow calls, ask the collector for a snapshot.
 *
 * A fragment that begins at such a function, or at an address to which one returns, begins with an
 * exit that is always taken (X_WATCH). So the dispatcher sees each call and each return.
 */
#ifndef ADEPT_ENGINE_RECORD_TRIGGERS_H
#define ADEPT_ENGINE_RECORD_TRIGGERS_H

#include "libdep/engine/base/maps.h"
#include "libdep/engine/base/tls.h"

struct build;

/** triggers_scan_module() - watch the functions in a mapping, before its code runs */
void triggers_scan_module(u64 base, const struct map_line *l);
/** triggers_emit_check() - emit the exit at the beginning of a fragment that is watched */
void triggers_emit_check(struct build *b);
/**
 * triggers_meet() - thread @t begins to execute the watched address @pc
 *
 * Return: an address whose translations must be killed, since a function will return to it, or 0.
 */
u64 triggers_meet(struct tls *t, u64 pc);

#endif
