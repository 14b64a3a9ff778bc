// SPDX-License-Identifier: GPL-2.0-or-later
// Tables: functions, call tree, callers and callees.

const TABLE_ROWS = 400;
const sorting = { key: 'self', up: false };

/* Why counts in a table may be smaller than in the recording. */
function partialNote() {
	return element(
		'p',
		{ className: 'note' },
		`Only the time and thread in focus count. Chains of calls with less than ` +
			`${exact(data.least)} instructions are left out of these sums.`,
	);
}

function selectFunction(f) {
	setFocus({ fn: focus.fn === f ? -1 : f });
}

/* ---- functions ---- */

const FUNCTION_COLUMNS = [
	{ key: 'self', title: 'self', tip: 'instructions in the function itself' },
	{ key: 'inclusive', title: 'total', tip: 'instructions in it and in all it called' },
	{ key: 'calls', title: 'calls', tip: 'times it was entered, in the whole recording' },
	{ key: 'refs', title: 'refs', tip: 'memory operands executed, in the whole recording' },
	{ key: 'name', title: 'function' },
];

function functionOrder(sums) {
	const value = {
		self: sums.self,
		inclusive: sums.inclusive,
		calls: functions.calls,
		refs: functions.refs,
		name: functions.name,
	}[sorting.key];
	const list = Array.from({ length: FUNCTIONS }, (x, f) => f).filter(
		(f) => (!matches || matches[f]) && (!weight.partial || sums.inclusive[f] > 0),
	);
	list.sort((a, b) => (value[a] < value[b] ? 1 : value[a] > value[b] ? -1 : a - b));
	return sorting.up ? list.reverse() : list;
}

/* A function without a total: it was only jumped to, and counts for the function that did. */
function notEntered() {
	return element(
		'td',
		{ className: 'share', title: 'it was never called, only jumped to' },
		'–',
	);
}

function functionRow(f, sums, columns) {
	const all = weight.inclusive[0];
	const cells = {
		self: () => shareCell(sums.self[f], all),
		inclusive: () =>
			sums.inclusive[f] < sums.self[f]
				? notEntered()
				: shareCell(sums.inclusive[f], all, 'total'),
		calls: () => numberCell(functions.calls[f]),
		refs: () => numberCell(functions.refs[f]),
		name: () =>
			element(
				'td',
				{ className: 'name', title: functionName(f) },
				element('span', { className: 'name-text' }, functionName(f)),
				element('span', { className: 'module' }, moduleName(f)),
			),
	};
	return element(
		'tr',
		{
			tabIndex: 0,
			className: f === focus.fn ? 'selected' : '',
			data: { function: f },
			on: {
				click: () => selectFunction(f),
				dblclick: () => setFocus({ fn: f, view: 'source' }),
			},
		},
		...columns.map((column) => cells[column.key]()),
	);
}

function functionTable(into, columns) {
	const sums = functionSums();
	const order = functionOrder(sums);
	const head = element(
		'tr',
		null,
		...columns.map((column) =>
			element(
				'th',
				{
					title: column.tip || '',
					className: column.key === 'name' ? 'name' : '',
					ariaSort:
						sorting.key === column.key
							? sorting.up
								? 'ascending'
								: 'descending'
							: 'none',
				},
				element(
					'button',
					{
						type: 'button',
						on: {
							click: () => {
								sorting.up =
									sorting.key === column.key
										? !sorting.up
										: column.key ===
											'name';
								sorting.key = column.key;
								into.replaceChildren();
								functionTable(into, columns);
							},
						},
					},
					column.title,
				),
			),
		),
	);
	const rows = order.slice(0, TABLE_ROWS).map((f) => functionRow(f, sums, columns));
	into.append(
		element(
			'table',
			{ className: 'functions' },
			element('thead', null, head),
			element('tbody', null, ...rows),
		),
	);
	const more = order.length - rows.length;
	if (more > 0)
		into.append(
			element(
				'p',
				{ className: 'note' },
				`${exact(more)} more: search for a name`,
			),
		);
	if (data.left_out.functions && !matches && !weight.partial)
		into.append(
			element(
				'p',
				{ className: 'note' },
				`${exact(data.left_out.functions)} ` +
					`functions with ${exact(data.left_out.insns)} ` +
					'instructions are not in this page',
			),
		);
	if (weight.partial) into.append(partialNote());
	if (!order.length) into.append(element('p', { className: 'note' }, 'No function matches.'));
}

function functionsView(view) {
	const frame = element('div', { className: 'frame' });
	view.append(frame);
	functionTable(frame, FUNCTION_COLUMNS);
	return {};
}

/* ---- call tree ---- */

const opened = new Set([0]);

/* Open the nodes above the function in focus where it has most instructions, else the hottest. */
function openHottest() {
	let target = 0;
	if (focus.fn >= 0) {
		for (let i = 1; i < NODES; i++)
			if (
				nodeFunction(i) === focus.fn &&
				(!target || weight.inclusive[i] > weight.inclusive[target])
			)
				target = i;
		for (let i = target; i !== 0; i = nodes.parent[i]) opened.add(nodes.parent[i]);
		return target;
	}
	if (opened.size > 1) return 0;
	for (let depth = 0; depth < 12 && children[target].length; depth++) {
		opened.add(target);
		target = children[target][0];
	}
	return 0;
}

function treeRow(i, depth, redraw) {
	const all = weight.inclusive[0];
	const leaf = !children[i].some((child) => weight.inclusive[child] > 0);
	const f = nodeFunction(i);
	const toggle = () => {
		if (!opened.delete(i)) opened.add(i);
		redraw(i);
	};
	const name = element(
		'td',
		{ className: 'name', title: nodeName(i) },
		element('span', { className: 'indent' }),
		element(
			'button',
			{
				type: 'button',
				className: 'toggle',
				tabIndex: -1,
				disabled: leaf,
				ariaLabel: opened.has(i) ? 'close' : 'open',
				on: {
					click: (e) => {
						e.stopPropagation();
						toggle();
					},
				},
			},
			leaf ? '·' : opened.has(i) ? '▾' : '▸',
		),
		element('span', { className: 'name-text' }, nodeName(i)),
		element('span', { className: 'module' }, moduleName(f)),
	);
	name.firstChild.style.width = `${Math.min(depth, 40) * 12}px`;
	const found = f >= 0 && (matches ? matches[f] : false);
	const row = element(
		'tr',
		{
			tabIndex: 0,
			data: { node: i },
			className:
				(f >= 0 && f === focus.fn ? 'selected ' : '') +
				(found ? 'found' : ''),
			on: {
				click: () => {
					if (f >= 0) selectFunction(f);
					else if (!leaf) toggle();
				},
				keydown: (e) => {
					if (
						(e.key === 'ArrowRight' &&
							!opened.has(i) &&
							!leaf) ||
						(e.key === 'ArrowLeft' && opened.has(i))
					) {
						e.preventDefault();
						toggle();
					}
				},
			},
		},
		shareCell(weight.inclusive[i], all, 'total'),
		shareCell(weight.self[i], all),
		numberCell(nodes.calls[i]),
		name,
	);
	row.setAttribute('aria-level', depth + 1);
	if (!leaf) row.setAttribute('aria-expanded', opened.has(i));
	return row;
}

function treeRows(redraw) {
	const rows = [];
	const stack = [[0, 0]];
	while (stack.length && rows.length < 3000) {
		const [i, depth] = stack.pop();
		rows.push(treeRow(i, depth, redraw));
		if (!opened.has(i)) continue;
		const list = children[i].filter((child) => weight.inclusive[child] > 0);
		for (let k = list.length - 1; k >= 0; k--) stack.push([list[k], depth + 1]);
	}
	return rows;
}

function treeView(view) {
	const frame = element('div', { className: 'frame' });
	const body = element('tbody');
	const redraw = (node) => {
		body.replaceChildren(...treeRows(redraw));
		const row = body.querySelector(`tr[data-node="${node}"]`);
		if (row) row.focus({ preventScroll: true });
	};
	const target = openHottest();
	body.append(...treeRows(redraw));
	frame.append(
		element(
			'table',
			{ className: 'tree', role: 'treegrid' },
			element(
				'thead',
				null,
				element(
					'tr',
					null,
					element('th', null, 'total'),
					element('th', null, 'self'),
					element('th', { title: 'in the whole recording' }, 'calls'),
					element('th', { className: 'name' }, 'function'),
				),
			),
			body,
		),
	);
	view.append(frame);
	const row = target ? body.querySelector(`tr[data-node="${target}"]`) : null;
	if (row) row.scrollIntoView({ block: 'center' });
	return {};
}

/* ---- callers and callees ---- */

/* [function, calls or null, instructions] of callers or callees, most first. */
function neighbours(f, callers, tree) {
	if (weight.partial)
		return tree.children[0].map((i) => [tree.fn(i), null, tree.value[i], tree.name(i)]);
	const list = [];
	const pairs = data.pairs;
	const mine = callers ? pairs.callee : pairs.caller;
	const other = callers ? pairs.caller : pairs.callee;
	for (let i = 0; i < mine.length; i++)
		if (mine[i] === f)
			list.push([
				other[i],
				pairs.calls[i],
				pairs.insns[i],
				other[i] < 0 ? '[none]' : functionName(other[i]),
			]);
	return list.sort((a, b) => b[2] - a[2]);
}

function neighbourTable(title, list, all) {
	const rows = list.slice(0, 100).map(([f, calls, insns, name]) =>
		element(
			'tr',
			{
				tabIndex: f >= 0 ? 0 : -1,
				data: { function: f },
				on: {
					click: () => {
						if (f >= 0) setFocus({ fn: f });
					},
				},
			},
			shareCell(insns, all, 'total'),
			calls === null
				? element('td', { className: 'number' }, '–')
				: numberCell(calls),
			element(
				'td',
				{ className: 'name', title: name },
				element('span', { className: 'name-text' }, name),
			),
		),
	);
	const table = element(
		'table',
		{ className: 'neighbours' },
		element(
			'thead',
			null,
			element(
				'tr',
				null,
				element('th', null, 'total'),
				element('th', null, 'calls'),
				element('th', { className: 'name' }, title),
			),
		),
		element('tbody', null, ...rows),
	);
	if (!list.length)
		return element('div', null, table, element('p', { className: 'note' }, 'None.'));
	return element('div', null, table);
}

/* The function in focus, else the one with most instructions of its own. */
function shownFunction() {
	return focus.fn >= 0 ? focus.fn : topFunctions()[0];
}

function sandwichView(view) {
	const f = shownFunction();
	const roots =
		f === undefined
			? []
			: outermost((i) => nodeFunction(i) === f).filter(
					(i) => weight.inclusive[i] > 0,
				);
	if (f === undefined) {
		view.append(
			element('p', { className: 'note' }, 'Nothing was executed in this focus.'),
		);
		return {};
	}
	const up = roots.length ? callerTree(roots) : null;
	const down = roots.length ? calleeTree(roots) : null;
	const all = weight.partial ? (up ? up.value[0] : 0) : functions.inclusive[f];
	const title = element('h2', { className: 'title' }, functionName(f));
	const none = { children: [[]] };
	view.append(
		title,
		element(
			'div',
			{ className: 'columns' },
			neighbourTable('called by', neighbours(f, true, up || none), all),
			neighbourTable('calls', neighbours(f, false, down || none), all),
		),
	);
	if (!roots.length) {
		view.append(
			element(
				'p',
				{ className: 'note' },
				'No chain of calls of this function has ' +
					`${exact(data.least)} instructions: there is no graph.`,
			),
		);
		return {};
	}
	const upper = element('canvas', { ariaLabel: 'callers' });
	const lower = element('canvas', { ariaLabel: 'callees' });
	view.append(
		element('p', { className: 'caption' }, 'Callers, the nearest at the bottom'),
		element('div', { className: 'half' }, upper),
		element('p', { className: 'caption' }, 'Callees'),
		element('div', { className: 'half' }, lower),
	);
	const flames = [
		new Flame(upper, { up: true, selfCounts: false, root: true }),
		new Flame(lower, { root: true }),
	];
	flames[0].setTree(up, 0);
	flames[1].setTree(down, 0);
	upper.parentElement.scrollTop = upper.parentElement.scrollHeight;
	return {
		resize: () =>
			flames.forEach((flame) => {
				flame.layout();
				flame.draw();
			}),
	};
}
