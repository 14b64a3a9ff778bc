// SPDX-License-Identifier: GPL-2.0-or-later
// Paths through functions, and the hot path of each loop.

const paths = data.paths;
const PATHS = paths ? paths.function.length : 0;
const pathSorting = { key: 'share', up: false };
const PATH_COLUMNS = [
	{ key: 'share', title: 'self', tip: 'instructions of all executions, without callees' },
	{ key: 'count', title: 'times', tip: 'how often the path was executed' },
	{ key: 'insns', title: 'each', tip: 'instructions of one execution' },
	{ key: 'blocks', title: 'blocks', tip: 'number of basic blocks' },
	{ key: 'name', title: 'first block' },
];

/* A place in a function: its name and a distance. */
function placeName(f, offset) {
	const sign = offset < 0 ? '-' : '+';
	return offset ? functionName(f) + sign + Math.abs(offset).toString(16) : functionName(f);
}

function pathName(k) {
	return placeName(paths.function[k], paths.offset[k]);
}

function pathInsns(k) {
	return paths.count[k] * paths.insns[k];
}

/* Select a path, or no one if it is selected. */
function selectPath(k) {
	if (k < 0) return;
	if (focus.path === k) setFocus({ path: -1 });
	else setFocus({ path: k, fn: paths.function[k] });
}

/* The instructions of the selected path in the code of function f, as a set of indexes. */
function pathCode(f) {
	if (focus.path < 0) return null;
	const code = paths.code;
	const found = new Set();
	for (let i = paths.first[focus.path]; i < paths.first[focus.path + 1]; i++)
		if (code.function[i] === f)
			for (let at = code.from[i]; at <= code.to[i]; at++) found.add(at);
	return found.size ? { code: found, count: paths.count[focus.path] } : null;
}

/* The source line of the first instruction of a path; 0: not known. */
function pathLine(k) {
	const i = paths.first[k];
	const code = i < paths.first[k + 1] ? codeOf.get(paths.code.function[i]) : null;
	return code && code.file[paths.code.from[i]] >= 0 ? code.line[paths.code.from[i]] : 0;
}

function placeCell(name, line, mark) {
	return element(
		'td',
		{ className: 'name', title: name },
		element('span', { className: 'name-text' }, name),
		element(
			'span',
			{ className: 'module' },
			[mark, line ? `line ${line}` : ''].filter(Boolean).join(', '),
		),
	);
}

function pathRow(k) {
	return element(
		'tr',
		{
			tabIndex: 0,
			className: k === focus.path ? 'selected' : '',
			data: { path: k },
			on: {
				click: () => selectPath(k),
				dblclick: () =>
					setFocus({
						path: k,
						fn: paths.function[k],
						view: 'source',
					}),
			},
		},
		shareCell(pathInsns(k), data.insns),
		numberCell(paths.count[k]),
		numberCell(paths.insns[k]),
		numberCell(paths.blocks[k]),
		placeCell(pathName(k), pathLine(k), paths.round[k] ? '↺' : ''),
	);
}

function pathOrder() {
	const value = {
		share: pathInsns,
		count: (k) => paths.count[k],
		insns: (k) => paths.insns[k],
		blocks: (k) => paths.blocks[k],
		name: pathName,
	}[pathSorting.key];
	const list = Array.from({ length: PATHS }, (x, k) => k).filter(
		(k) => !matches || matches[paths.function[k]],
	);
	const values = list.map(value);
	const order = list.map((k, i) => i);
	order.sort((a, b) => (values[a] < values[b] ? 1 : values[a] > values[b] ? -1 : a - b));
	if (pathSorting.up) order.reverse();
	return order.map((i) => list[i]);
}

function pathHead(redraw) {
	return element(
		'tr',
		null,
		...PATH_COLUMNS.map(({ key, title, tip }) =>
			element(
				'th',
				{
					title: tip || '',
					className: key === 'name' ? 'name' : '',
					ariaSort:
						pathSorting.key !== key
							? 'none'
							: pathSorting.up
								? 'ascending'
								: 'descending',
				},
				element(
					'button',
					{
						type: 'button',
						on: {
							click: () => {
								pathSorting.up =
									pathSorting.key === key
										? !pathSorting.up
										: key === 'name';
								pathSorting.key = key;
								redraw();
							},
						},
					},
					title,
				),
			),
		),
	);
}

function note(text) {
	return element('p', { className: 'note' }, text);
}

/* What the table of paths does not have. */
function pathNotes(more) {
	const notes = [];
	if (more > 0) notes.push(note(`${exact(more)} more: search for a name`));
	if (paths.left_out && !matches)
		notes.push(
			note(
				`${exact(paths.left_out)} paths with ${exact(paths.left_insns)} ` +
					'instructions are not in this page',
			),
		);
	if (paths.partial && !matches)
		notes.push(
			note(
				`${exact(paths.partial)} paths with ` +
					`${exact(paths.partial_insns)} instructions were not ` +
					'executed to their end',
			),
		);
	if (paths.truncated)
		notes.push(
			note(
				`${exact(paths.truncated)} functions have too many paths: ` +
					'these are cut into shorter ones',
			),
		);
	return notes;
}

function pathTable(into) {
	const order = pathOrder();
	const rows = order.slice(0, TABLE_ROWS).map(pathRow);
	into.replaceChildren(
		element(
			'table',
			{ className: 'paths' },
			element(
				'thead',
				null,
				pathHead(() => pathTable(into)),
			),
			element('tbody', null, ...rows),
		),
		...pathNotes(order.length - rows.length),
	);
	if (!order.length) into.append(note('No path matches.'));
}

function loopRow(i) {
	const loops = paths.loops;
	const k = loops.path[i];
	const hot =
		k < 0
			? element(
					'td',
					{
						className: 'share',
						title: 'no path begins there and goes back to it',
					},
					'–',
				)
			: shareCell(paths.count[k], loops.iterations[i], 'total');
	if (k >= 0)
		hot.title = `${exact(paths.count[k])} of ${exact(loops.iterations[i])} iterations`;
	return element(
		'tr',
		{
			tabIndex: k < 0 ? -1 : 0,
			className: k >= 0 && k === focus.path ? 'selected' : '',
			data: { loop: i },
			on: { click: () => selectPath(k) },
		},
		shareCell(loops.insns[i], data.insns),
		numberCell(loops.iterations[i]),
		hot,
		k < 0 ? element('td', { className: 'number' }, '–') : numberCell(paths.insns[k]),
		placeCell(placeName(loops.function[i], loops.offset[i]), loops.line[i], ''),
	);
}

function loopTable(into) {
	const rows = [];
	for (let i = 0; i < paths.loops.function.length; i++)
		if (!matches || matches[paths.loops.function[i]]) rows.push(loopRow(i));
	const th = (text, title) => element('th', { title: title || '' }, text);
	into.replaceChildren(
		element(
			'table',
			{ className: 'loops' },
			element(
				'thead',
				null,
				element(
					'tr',
					null,
					th('self', 'instructions in the loop, without callees'),
					th('times', 'times its first block was executed'),
					th('hot path', 'share of the iterations that take it'),
					th('each', 'instructions of the hot path'),
					element('th', { className: 'name' }, 'loop'),
				),
			),
			element('tbody', null, ...rows),
		),
	);
	if (paths.loops_left_out && !matches)
		into.append(note(`${exact(paths.loops_left_out)} more loops are not in this page`));
	if (!rows.length) into.append(note('No loop matches.'));
}

/* What is selected, with buttons. */
function pathDetails(k) {
	if (k < 0) {
		showDetails(['', 'Click a path; a double click leads to its source.'], -1, null);
		return;
	}
	showDetails(
		[
			pathName(k),
			`${exact(paths.count[k])} times ${exact(paths.insns[k])} instructions`,
			`${exact(paths.blocks[k])} block${paths.blocks[k] === 1 ? '' : 's'}`,
			paths.round[k] ? 'goes back to its first block' : '',
		].filter((line, i) => line || !i),
		paths.function[k],
		null,
	);
}

/* Where the tables were scrolled to before a selection. */
const pathScroll = [0, 0];

function pathsView(view) {
	const panes = [0, 1].map((i) => {
		const pane = element('div', { className: 'pane' });
		pane.addEventListener('scroll', () => {
			pathScroll[i] = pane.scrollTop;
		});
		return pane;
	});
	if (weight.partial) view.append(note('Paths are those of the whole recording.'));
	view.append(element('div', { className: 'panes' }, ...panes));
	const scroll = [...pathScroll];
	pathTable(panes[0]);
	loopTable(panes[1]);
	panes.forEach((pane, i) => {
		pane.scrollTop = scroll[i];
	});
	pathDetails(focus.path);
	return {};
}
