// SPDX-License-Identifier: GPL-2.0-or-later
// The focus that all views share.  It is kept in the fragment of the page's address, so that the
// browser's back button returns to the previous one.

const VIEWS = ['flame', 'icicle', 'sandwich', 'tree', 'timeline', 'source', 'functions'];
if (data.paths) VIEWS.push('paths');
const NO_FOCUS = {
	view: 'flame',
	thread: -1,
	from: 0,
	to: BUCKETS,
	fn: -1,
	path: -1,
	node: 0,
	query: '',
};
const focus = { ...NO_FOCUS };
const watchers = [];

function clamp(value, low, high, otherwise) {
	const n = parseInt(value, 10);
	return n >= low && n <= high ? n : otherwise;
}

/* Take the focus from the address. */
function readFocus() {
	const p = new URLSearchParams(location.hash.slice(1));
	const next = { ...NO_FOCUS };
	if (VIEWS.includes(p.get('view'))) next.view = p.get('view');
	next.thread = clamp(p.get('thread'), 0, data.threads.length - 1, -1);
	next.fn = clamp(p.get('fn'), 0, FUNCTIONS - 1, -1);
	next.path = clamp(p.get('path'), 0, data.paths ? data.paths.function.length - 1 : -1, -1);
	next.node = clamp(p.get('node'), 0, NODES - 1, 0);
	next.from = clamp(p.get('from'), 0, BUCKETS - 1, 0);
	next.to = clamp(p.get('to'), next.from + 1, BUCKETS, BUCKETS);
	next.query = (p.get('q') || '').slice(0, 200);
	return next;
}

function writeFocus(replace) {
	const p = new URLSearchParams();
	p.set('view', focus.view);
	for (const key of ['thread', 'fn', 'path', 'node', 'from', 'to'])
		if (focus[key] !== NO_FOCUS[key]) p.set(key, focus[key]);
	if (focus.query) p.set('q', focus.query);
	const url = `#${p}`;
	if (url === location.hash) return;
	history[replace ? 'replaceState' : 'pushState'](null, '', url);
}

function apply(next) {
	const old = { ...focus };
	Object.assign(focus, next);
	// A path belongs to the function in focus.
	if (focus.path >= 0 && data.paths.function[focus.path] !== focus.fn) focus.path = -1;
	if (old.thread !== focus.thread || old.from !== focus.from || old.to !== focus.to)
		weigh(focus);
	for (const watch of watchers) watch(old);
}

/* Change some members of the focus.  A search is no step of the history. */
function setFocus(change) {
	apply(change);
	writeFocus(Object.keys(change).every((key) => key === 'query'));
}

/* Undo the narrowest part of the focus. */
function widenFocus() {
	if (focus.query) setFocus({ query: '' });
	else if (focus.node) setFocus({ node: 0 });
	else if (focus.path >= 0) setFocus({ path: -1 });
	else if (focus.fn >= 0) setFocus({ fn: -1 });
	else if (focus.from > 0 || focus.to < BUCKETS) setFocus({ from: 0, to: BUCKETS });
	else if (focus.thread >= 0) setFocus({ thread: -1 });
}

/* ---- search ---- */

/* For each function, if its name has the text searched for; null: nothing is searched for. */
let matches = null;

function search() {
	const query = focus.query.toLowerCase();
	matches = null;
	if (!query) return { count: 0, insns: 0 };
	matches = functions.name.map((name) => name.toLowerCase().includes(query));
	const found = outermost((i) => nodeFunction(i) >= 0 && matches[nodeFunction(i)]);
	return {
		count: matches.filter(Boolean).length,
		insns: found.reduce((sum, i) => sum + weight.inclusive[i], 0),
	};
}
