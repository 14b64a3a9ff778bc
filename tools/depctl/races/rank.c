// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>

#include "tools/depctl/depctl.h"
#include "races.h"

static bool begins(const char *s, const char *with)
{
	return !strncmp(s, with, strlen(with));
}

static bool is_libc(const char *module)
{
	const char *name = base_name(module);

	return begins(name, "libc.so") || begins(name, "libc-2") || begins(name, "libpthread");
}

static bool is_loader(const char *module)
{
	const char *name = base_name(module);

	return begins(name, "ld-linux") || begins(name, "ld-2") || begins(name, "ld.so");
}

bool race_in_system(const char *module)
{
	return is_libc(module) || is_loader(module);
}

/* Skip leading underscores of a function's name, and glibc's prefix GI_ of internal functions. */
static const char *plain_name(const char *function)
{
	while (*function == '_')
		function++;
	if (begins(function, "GI_"))
		function += 3;
	while (*function == '_')
		function++;
	return function;
}

static bool begins_with_any(const char *function, const char *const *names, size_t n)
{
	function = plain_name(function);
	while (n--)
		if (begins(function, *names++))
			return true;
	return false;
}

/* True for a library function that accesses its caller's data, not the library's. */
static bool is_for_caller(const char *function)
{
	static const char *const names[] = {
		"mem", "str", "wmem", "wcs", "stp", "rawmem", "bcopy", "bzero", "msort", "qsort",
	}, *const others[] = { "memalign", "memfd_create" };

	return begins_with_any(function, names, sizeof(names) / sizeof(names[0])) &&
	       !begins_with_any(function, others, sizeof(others) / sizeof(others[0]));
}

/* True if @function is @name, or a clone or part of @name: @name with a suffix after a dot. */
static bool is_named(const char *function, const char *name)
{
	size_t n = strlen(name);

	return begins(function, name) && (!function[n] || function[n] == '.');
}

static bool makes_threads(const char *function)
{
	function = plain_name(function);
	/* pthread_detach() and pthread_kill() count, too: they use the other thread's lock. */
	return begins(function, "pthread_create") || begins(function, "nptl_") ||
	       begins(function, "pthread_detach") || begins(function, "pthread_kill") ||
	       is_named(function, "start_thread") || is_named(function, "allocate_stack") ||
	       is_named(function, "deallocate_stack");
}

/* True for a read by a string function: it reads whole vectors, also after the string's end. */
static bool reads_too_much(struct dep_symbols *symbols, const struct dep_race *r, int side)
{
	static const char *const names[] = { "str", "wcs", "rawmem", "memchr", "memrchr" };
	const struct dep_race_access *a = &r->access[side];
	struct dep_place p[DEP_PLACES];
	const char *function;
	size_t i;

	if (a->flags & (DEP_ACCESS_WRITE | DEP_ACCESS_SYSCALL) ||
	    race_code(symbols, a->process, a->pc) != DEP_CODE_CALLER)
		return false;
	i = dep_symbols_frames(symbols, a->process, a->pc, 0, p, DEP_PLACES);
	function = p[(i < DEP_PLACES ? i : DEP_PLACES) - 1].function;
	return begins_with_any(function, names, sizeof(names) / sizeof(names[0]));
}

/* Called for all code that ran, so it must be fast: it does not read debug information. */
enum dep_code race_code(void *arg, uint32_t process, uint64_t pc)
{
	struct dep_place p;

	dep_symbols_module(arg, process, pc, 0, &p);
	if (is_loader(p.module))
		return DEP_CODE_LOADER;
	if (!is_libc(p.module))
		return DEP_CODE_PROGRAM;
	dep_symbols_function(arg, process, pc, 0, &p);
	if (p.function && makes_threads(p.function))
		return DEP_CODE_THREADS;
	return p.function && is_for_caller(p.function) ? DEP_CODE_CALLER : DEP_CODE_LIBRARY;
}

/* True if the names are equal up to a dot: compilers name parts of a function NAME.SUFFIX. */
static bool is_same(const char *a, const char *b)
{
	size_t n = strcspn(a, ".");

	return n == strcspn(b, ".") && !strncmp(a, b, n);
}

/* False if @from is in code without a name, such as a PLT entry: its end is not known. */
bool race_leaves(struct dep_symbols *symbols, uint32_t process, uint64_t from, uint64_t to)
{
	struct dep_place a, b;

	dep_symbols_function(symbols, process, from, 0, &a);
	if (!a.function || race_in_system(a.module))
		return false;
	dep_symbols_function(symbols, process, to, 0, &b);
	return !b.function || strcmp(a.module, b.module) || !is_same(a.function, b.function);
}

static bool is_internal(struct dep_symbols *symbols, const struct dep_race *r, int side)
{
	const uint32_t callers = DEP_ACCESS_SYSCALL | DEP_ACCESS_FREE | DEP_ACCESS_OBJECT;
	enum dep_code code = race_code(symbols, r->access[side].process, r->access[side].pc);

	return !(r->access[side].flags & callers) && code != DEP_CODE_PROGRAM &&
	       code != DEP_CODE_CALLER;
}

/* True for a member function of a C++ atomic type, or a function of libatomic. */
static bool is_atomic_code(const struct dep_place *p)
{
	static const char *const names[] = { "std::atomic", "std::__atomic", "__atomic_" };
	size_t i;

	for (i = 0; p->function && i < sizeof(names) / sizeof(names[0]); i++)
		if (begins(p->function, names[i]))
			return true;
	return false;
}

bool race_is_atomic(void *arg, uint32_t process, uint64_t pc, uint64_t address, uint64_t size)
{
	struct dep_place p[DEP_PLACES];
	struct dep_object o;
	size_t i, n = dep_symbols_frames(arg, process, pc, 0, p, DEP_PLACES);

	for (i = 0; i < n && i < DEP_PLACES; i++)
		if (is_atomic_code(&p[i]))
			return true;
	return dep_symbols_object(arg, process, address, (uint32_t)size, 0, &o) && o.atomic;
}

/* Checks only the innermost place: the operation itself, not the call of an inlined function. */
bool race_says_atomic(struct dep_symbols *symbols, struct source_file *s, uint32_t process,
		      uint64_t pc)
{
	struct dep_place p[DEP_PLACES];

	return dep_symbols_frames(symbols, process, pc, 0, p, DEP_PLACES) &&
	       race_source_atomic(s, &p[0]);
}

enum race_confidence race_confidence(struct dep_symbols *symbols, const struct dep_race *r)
{
	if (is_internal(symbols, r, 0) && is_internal(symbols, r, 1))
		return RACE_IN_LIBRARY;
	if (reads_too_much(symbols, r, 0) || reads_too_much(symbols, r, 1))
		return RACE_UNLESS_OVERREAD;
	if ((r->access[0].flags | r->access[1].flags) & DEP_ACCESS_CONDITIONAL)
		return RACE_UNLESS_SPECULATIVE;
	return r->maybe_atomic ? RACE_UNLESS_ATOMIC : RACE_CERTAIN;
}

const char *race_confidence_name(enum race_confidence rank)
{
	static const char *const names[RACE_RANKS] = {
		[RACE_CERTAIN] = "race",
		[RACE_UNLESS_ATOMIC] = "race unless atomic",
		[RACE_UNLESS_OVERREAD] = "race unless a string function overreads",
		[RACE_UNLESS_SPECULATIVE] = "race unless a load is speculative",
		[RACE_IN_LIBRARY] = "inside of the library",
	};

	return names[rank];
}
