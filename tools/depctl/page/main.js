// SPDX-License-Identifier: GPL-2.0-or-later
// Start of the page: tabs, keys, and what is around the views.

const TABS = {
	flame: ['Flame graph', (view) => flameView(view, true)],
	icicle: ['Icicle', (view) => flameView(view, false)],
	sandwich: ['Sandwich', sandwichView],
	tree: ['Call tree', treeView],
	timeline: ['Timeline', timelineView],
	source: ['Source', sourceView],
	functions: ['Functions', functionsView],
	paths: ['Paths', pathsView],
};
const KEYS = [
	['/', 'search'],
	[`1 to ${VIEWS.length}`, 'choose a view'],
	['Esc', 'undo the narrowest part of the focus'],
	['arrows', 'in a graph: move; in a table: next row, open or close'],
	['Enter', 'in a graph: zoom in; in a table: choose the function'],
	['space', 'in a graph: choose the function'],
	['s', 'source of the function in focus'],
	['c', 'its callers and callees'],
	['?', 'this list'],
];
const HOW_TO_GET_PATHS = 'depctl report --paths --html=FILE STORE';
let shown = {};
let overview = null;

function flameView(view, up) {
	const frame = element('div', { className: 'frame graph' });
	const canvas = element('canvas', { ariaLabel: up ? 'Flame graph' : 'Icicle' });
	frame.append(canvas);
	view.append(frame);
	const flame = new Flame(canvas, { up, onZoom: (node) => setFocus({ node }) });
	flame.setTree(wholeTree(), focus.node);
	if (up) frame.scrollTop = frame.scrollHeight;
	return {
		resize: () => {
			flame.layout();
			flame.draw();
		},
		canvas,
	};
}

/* What is selected in a graph, with buttons; also for screens without a pointer. */
function showDetails(lines, f, zoom) {
	const box = byId('details');
	const button = (text, action) =>
		element('button', { type: 'button', on: { click: action } }, text);
	box.replaceChildren(
		element('span', { className: 'details-name', title: lines[0] }, lines[0]),
		element('span', { className: 'details-text' }, lines.slice(1).join(' · ')),
	);
	if (zoom) box.append(button('Zoom', zoom));
	if (f >= 0)
		box.append(
			button('Focus', () => setFocus({ fn: f })),
			button('Callers', () => setFocus({ fn: f, view: 'sandwich' })),
			button('Source', () => setFocus({ fn: f, view: 'source' })),
		);
}

function showHead() {
	const processes = data.processes.length;
	byId('command').textContent = data.command || 'recording';
	byId('command').title = data.command || '';
	document.title = `${baseName((data.command || '').split(' ')[0]) || 'recording'} – profile`;
	byId('totals').textContent = [
		`${short(data.insns)} instructions`,
		`${short(data.refs)} memory operands`,
		`${processes} process${processes === 1 ? '' : 'es'}`,
		`${data.threads.length} thread${data.threads.length === 1 ? '' : 's'}`,
		data.recorded_ms ? new Date(data.recorded_ms).toLocaleString() : '',
	]
		.filter(Boolean)
		.join(' · ');
	byId('totals').title = `${exact(data.insns)} user instructions`;
	const missing = data.missing;
	if (missing.length) {
		byId('missing').hidden = false;
		byId('missing').append(element('strong', null, 'Incomplete: '), missing.join('; '));
	}
}

function showThreads() {
	const select = byId('thread');
	select.append(element('option', { value: -1 }, 'all threads'));
	data.threads.forEach((t, i) =>
		select.append(
			element(
				'option',
				{ value: i },
				`${threadName(i)} – ${percent(t.insns, data.insns)}`,
			),
		),
	);
	select.hidden = data.threads.length < 2;
	select.addEventListener('change', () => setFocus({ thread: Number(select.value) }));
}

function showTabs() {
	VIEWS.forEach((name, k) =>
		byId('tabs').append(
			element(
				'button',
				{
					type: 'button',
					role: 'tab',
					id: `tab-${name}`,
					className: `tab tab-${name}`,
					title: `key ${k + 1}`,
					on: { click: () => setFocus({ view: name }) },
				},
				TABS[name][0],
			),
		),
	);
	if (!paths)
		byId('tabs').append(
			element(
				'span',
				{
					className: 'tab-missing',
					title:
						'This page has no paths. ' +
						`${HOW_TO_GET_PATHS} adds them.`,
				},
				'Paths: report --paths',
			),
		);
	byId('key-table').append(
		...KEYS.map(([key, what]) =>
			element(
				'tr',
				null,
				element('td', null, element('kbd', null, key)),
				element('td', null, what),
			),
		),
	);
}

/* The parts of the focus, each with a button that removes it. */
function showFocus() {
	const chips = [];
	const chip = (text, change) =>
		chips.push(
			element(
				'button',
				{
					type: 'button',
					className: 'chip',
					title: 'remove from the focus',
					on: { click: () => setFocus(change) },
				},
				element('span', { className: 'chip-text' }, text),
				element('span', { className: 'x' }, '×'),
			),
		);
	if (focus.from > 0 || focus.to < BUCKETS)
		chip(
			`${duration(focus.from * data.time.bucket_ns)} to ` +
				`${duration(focus.to * data.time.bucket_ns)}`,
			{ from: 0, to: BUCKETS },
		);
	if (focus.thread >= 0) chip(`thread ${threadName(focus.thread)}`, { thread: -1 });
	if (focus.fn >= 0) chip(functionName(focus.fn), { fn: -1 });
	if (focus.path >= 0)
		chip(`path: ${exact(paths.count[focus.path])} times`, { path: -1 });
	if (focus.node) chip(`zoom: ${nodeName(focus.node)}`, { node: 0 });
	if (weight.partial)
		chips.push(
			element(
				'span',
				{ className: 'note' },
				`${exact(weight.inclusive[0])} of ` +
					`${exact(data.insns)} instructions`,
			),
		);
	byId('focus').replaceChildren(...chips);
	byId('focus').hidden = !chips.length;
	byId('thread').value = focus.thread;
}

function showFound() {
	const found = search();
	if (byId('search').value !== focus.query) byId('search').value = focus.query;
	byId('found').textContent = focus.query
		? `${exact(found.count)} found, ` + `${percent(found.insns, weight.inclusive[0])}`
		: '';
}

function showSide() {
	const side = byId('side');
	const scroll = side.scrollTop;
	side.replaceChildren();
	if (side.offsetParent && !['functions', 'paths'].includes(focus.view))
		functionTable(
			side,
			FUNCTION_COLUMNS.filter((c) =>
				['self', 'inclusive', 'name'].includes(c.key),
			),
		);
	side.scrollTop = scroll;
}

function showView() {
	const view = byId('view');
	hideTip();
	byId('details').replaceChildren();
	if (['flame', 'icicle', 'sandwich'].includes(focus.view))
		showDetails(
			['', 'Click a box, or use the arrow keys; a double click zooms in.'],
			-1,
			null,
		);
	view.replaceChildren();
	view.className = `view-${focus.view}`;
	document.body.dataset.view = focus.view;
	for (const name of VIEWS)
		byId(`tab-${name}`).setAttribute('aria-selected', name === focus.view);
	shown = TABS[focus.view][1](view);
}

function show() {
	showFound();
	showFocus();
	showView();
	showSide();
	if (overview) overview.update();
}

/* Move to the next or previous row of the table that has the keyboard. */
function moveRow(event) {
	const row = event.target.closest('tr');
	if (!row) return false;
	const next =
		event.key === 'ArrowDown' ? row.nextElementSibling : row.previousElementSibling;
	if (event.key === 'Enter') row.click();
	else if (next) next.focus();
	return true;
}

function onKey(event) {
	const typing = event.target.matches('input, select');
	if (event.ctrlKey || event.altKey || event.metaKey || byId('keys').open) return;
	if (event.key === 'Escape') {
		event.target.blur();
		widenFocus();
	} else if (typing) {
		if (event.key === 'Enter' && matches) {
			const best = functionOrder(functionSums())[0];
			event.target.blur();
			if (best !== undefined) setFocus({ fn: best, query: '' });
		}
		return;
	} else if (['ArrowDown', 'ArrowUp', 'Enter'].includes(event.key)) {
		if (event.target.matches('button') || !moveRow(event)) return;
	} else if (event.key === '/') {
		byId('search').focus();
		byId('search').select();
	} else if (event.key === '?') {
		byId('keys').showModal();
	} else if (VIEWS[Number(event.key) - 1]) {
		setFocus({ view: VIEWS[Number(event.key) - 1] });
		if (shown.canvas) shown.canvas.focus({ preventScroll: true });
	} else if (event.key === 's' || event.key === 'c') {
		setFocus({ view: event.key === 's' ? 'source' : 'sandwich' });
	} else {
		return;
	}
	event.preventDefault();
}

function resize() {
	if (shown.resize) shown.resize();
	if (overview) overview.draw();
	showSide();
}

function start() {
	showHead();
	showThreads();
	showTabs();
	weigh(focus);
	if (BUCKETS > 1)
		overview = new TimeChart(byId('overview-chart'), { one: true, height: 44 });
	byId('overview').hidden = !overview;
	watchers.push(show);
	apply(readFocus());
	addEventListener('popstate', () => apply(readFocus()));
	addEventListener('hashchange', () => apply(readFocus()));
	addEventListener('keydown', onKey);
	addEventListener('resize', resize);
	matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => apply({}));
	byId('search').addEventListener('input', () => setFocus({ query: byId('search').value }));
	byId('help').addEventListener('click', () => byId('keys').showModal());
	document.body.dataset.ready = 'yes';
}

start();
