// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Effects of hooked functions on the filter.  The calls that the filter takes for active must be
 * the same as in the analyzer (sync/hooked_functions.c).
 */
#include "filter.h"

static void set_muted(struct dep_filter *s)
{
	bool was = s->muted;
	u32 i;

	s->muted = false;
	for (i = 0; i < s->ncalls; i++)
		s->muted |= dep_function_mutes(s->call[i].function);
	if (was || s->muted)
		dep_filter_set_tags(s);
}

void dep_filter_left(struct dep_filter *s)
{
	s->unsure |= s->ncalls != 0;
	s->ncalls = 0;
	s->unheard = DEP_FILTER_NOTHING;
	set_muted(s);
}

static void enter(struct dep_filter *s, const struct dep_function_call *f, u8 code)
{
	struct dep_filter_call *c;

	/* The calls are nested too deeply: forget them, so that no access is muted. */
	if (s->ncalls == DEP_FILTER_CALLS) {
		s->ncalls = 0;
		s->unsure = true;
	}
	c = &s->call[s->ncalls++];
	c->sp = f->passed->sp;
	c->function = f->function;
	c->code = code;
	c->block = f->known & 1 ? f->passed->value[0] : 0;
	c->sized = dep_function_asks(f->function, f->known, f->passed->value, &c->size);
}

/*
 * The accesses that a call or return makes the filter forget: none (@size is 0), those to @size
 * bytes at @address, or all, because it begins a new interval (@turn).
 */
struct news {
	bool turn;
	u64 address, size;
};

/*
 * Forget accesses to a block that is freed.  Another thread can get the memory next, so later
 * accesses by this thread would be an error and must be emitted.  The known size can be that of an
 * earlier, smaller block at the same address; the analyzer detects this.
 */
static struct news frees(const struct dep_filter *s, const struct dep_function_call *f)
{
	u64 block = f->passed->value[0], size;

	if (!(f->known & 1))
		return (struct news){ .turn = true };
	size = dep_heap_sizes_get(&s->blocks, block);
	return (struct news){ .turn = block && !size, .address = block, .size = size };
}

/*
 * Forget accesses to a block whose usable size the allocator reports.  A program may use all of
 * that size, so bytes beyond the requested size are accessible now.  Only the analyzer knows how
 * many, since the block may have been freed and allocated again.  If the same size was already
 * reported in this interval, that is unlikely: forget nothing and leave it to the analyzer.
 */
static struct news tells_size(const struct dep_filter *s, u64 block, u64 size)
{
	if (dep_heap_sizes_reported(&s->blocks, block, size, s->seen.turn))
		size = 0;
	return (struct news){ .turn = !block, .address = block, .size = size };
}

/* Forget accesses to the block that an allocation returns. */
static struct news allocates(const struct dep_filter *s, const struct dep_filter_call *c,
			     const struct dep_function_call *f)
{
	u64 result = f->passed->value[0];

	if (dep_function_frees(c->function))
		return (struct news){ 0 };
	if (!(f->known & 1))
		return (struct news){ .turn = true };
	if (dep_function_tells_size(c->function))
		return tells_size(s, c->block, result);
	return (struct news){
		.turn = !c->sized || dep_function_reallocates(c->function),
		.address = result, .size = result ? c->size : 0,
	};
}

/* Update the known block sizes after a return. */
static void note_block(struct dep_filter *s, const struct dep_filter_call *c, u64 result)
{
	if (dep_function_frees(c->function))
		return;
	if (dep_function_tells_size(c->function)) {
		if (c->block &&
		    !dep_heap_sizes_reported(&s->blocks, c->block, result, s->seen.turn))
			dep_heap_sizes_report(&s->blocks, c->block, result, s->seen.turn);
		return;
	}
	/* A successful reallocation has freed the old block. */
	if (c->sized && dep_function_reallocates(c->function) && (result || !c->size))
		dep_heap_sizes_remove(&s->blocks, c->block);
	if (c->sized && result)
		dep_heap_sizes_set(&s->blocks, result, c->size);
}

/*
 * Return: the number of calls that are still active at @f, by their stack pointers.
 * @last: receives the outermost call that has ended; its sp is 0 if none has
 */
static u32 frames_left(const struct dep_filter *s, const struct dep_function_call *f,
		       struct dep_filter_call *last)
{
	u64 sp = f->passed->sp + !f->is_return;
	u32 n = s->ncalls;

	last->sp = 0;
	while (n && s->call[n - 1].sp < sp)
		*last = s->call[--n];
	return n;
}

/* Is @f the return from the call @last? */
static bool is_from(const struct dep_function_call *f, const struct dep_filter_call *last)
{
	return last->sp && last->sp == f->passed->sp - 8;
}

/* Find the accesses to forget at @f, if no active call mutes; @last: see frames_left() */
static struct news news_of(const struct dep_filter *s, const struct dep_function_call *f,
			   const struct dep_filter_call *last)
{
	if (!f->is_return) {
		if (dep_function_frees(f->function))
			return frees(s, f);
		return (struct news){ .turn = !dep_function_is_heap(f->function) };
	}
	if (is_from(f, last) && dep_function_is_heap(last->function))
		return allocates(s, last, f);
	return (struct news){ .turn = is_from(f, last) || s->unsure };
}

static bool mutes(const struct dep_filter *s, u32 ncalls)
{
	while (ncalls--)
		if (dep_function_mutes(s->call[ncalls].function))
			return true;
	return false;
}

bool dep_filter_passes(const struct dep_filter *s, const struct dep_function_call *f)
{
	struct dep_filter_call last;
	struct news news;

	if (mutes(s, frames_left(s, f, &last)))
		return false;
	news = news_of(s, f, &last);
	if (f->is_return && s->unheard != DEP_FILTER_NOTHING &&
	    !dep_filter_may_count(s, s->unheard))
		return true;
	return news.turn || dep_access_set_is_deferred(&s->seen, news.address, news.size);
}

u64 dep_filter_function(struct dep_filter *s, const struct dep_function_call *f, u8 code)
{
	struct dep_filter_call last;
	struct news news;
	bool all, again;
	u64 held;

	s->ncalls = frames_left(s, f, &last);
	set_muted(s);
	if (s->muted && f->is_return)
		return DEP_FILTER_ALL_OF_IT;
	if (s->muted) {
		enter(s, f, code);
		set_muted(s);
		return DEP_FILTER_ALL_OF_IT;
	}
	news = news_of(s, f, &last);
	news.turn |= !dep_access_set_forget(&s->seen, news.address, news.size);
	if (news.turn) {
		all = s->all;
		held = s->held.pc;
		dep_filter_new_interval(s);
		/*
		 * @f can come between the first timestamp and the reference of a locked
		 * instruction: the thread is still inside this instruction.
		 */
		s->all = all;
		s->held.pc = held;
		news.size = 0;
	}
	if (f->is_return) {
		again = news.turn || news.size || !is_from(f, &last) ||
			!dep_function_tells_size(last.function);
		if (is_from(f, &last) && dep_function_is_heap(last.function) && f->known & 1)
			note_block(s, &last, f->passed->value[0]);
		dep_filter_event(s, s->unheard);
		return again ? DEP_FILTER_ALL_OF_IT : 0;
	}
	if (dep_function_frees(f->function) && (news.turn || news.size)) {
		/* The last deferred reads may be of the freed block: too late to emit them. */
		s->nlast = s->first = 0;
		dep_heap_sizes_remove(&s->blocks, f->passed->value[0]);
	}
	enter(s, f, code);
	set_muted(s);
	return dep_function_frees(f->function) && news.size ? news.size : DEP_FILTER_ALL_OF_IT;
}
