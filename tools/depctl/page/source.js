// SPDX-License-Identifier: GPL-2.0-or-later
// Source lines and assembly of a function, with counts.

/* Lines of each source file, as a map from number to text. */
const sourceText = new Map();
for (const range of data.text) {
	if (!sourceText.has(range.file)) sourceText.set(range.file, new Map());
	range.lines.forEach((line, k) => sourceText.get(range.file).set(range.first + k, line));
}

/* For each file of a function, a map from line to instructions and the most often executed one. */
function lineCounts(code) {
	const files = new Map();
	for (let i = 0; i < code.at.length; i++) {
		if (code.file[i] < 0) continue;
		if (!files.has(code.file[i])) files.set(code.file[i], new Map());
		const lines = files.get(code.file[i]);
		const line = lines.get(code.line[i]) || { insns: 0, times: 0 };
		line.insns += code.count[i];
		line.times = Math.max(line.times, code.count[i]);
		lines.set(code.line[i], line);
	}
	return files;
}

function heat(row, count, peak) {
	if (count) row.style.setProperty('--heat', (0.06 + (0.5 * count) / peak).toFixed(3));
	row.classList.toggle('hot', count > 0);
}

/* Lines to show: those with counts, and the text between them. */
function shownLines(file, lines) {
	const text = sourceText.get(file) || new Map();
	const numbers = new Set(lines.keys());
	const sorted = Array.from(lines.keys()).sort((a, b) => a - b);
	for (let k = 0; k < sorted.length; k++) {
		const to =
			k + 1 < sorted.length && sorted[k + 1] - sorted[k] <= 40
				? sorted[k + 1]
				: sorted[k] + 4;
		const from = k > 0 && sorted[k] - sorted[k - 1] <= 40 ? sorted[k] : sorted[k] - 4;
		for (let n = from; n <= to; n++) if (text.has(n)) numbers.add(n);
	}
	return Array.from(numbers).sort((a, b) => a - b);
}

/* The cell of a count of the selected path; empty if it does not execute the row. */
function pathCell(path, on) {
	return on ? numberCell(path.count) : element('td', { className: 'number' });
}

function pathHeading(path) {
	return path
		? [element('th', { title: 'times that the selected path executed it' }, 'path')]
		: [];
}

/* The lines of a file that the selected path executes. */
function pathLines(code, file, path) {
	const lines = new Set();
	for (const i of path ? path.code : []) if (code.file[i] === file) lines.add(code.line[i]);
	return lines;
}

/* The file with the first line of the selected path; without one, otherwise. */
function pathFile(code, path, otherwise) {
	for (const i of path ? path.code : []) if (code.file[i] >= 0) return code.file[i];
	return otherwise;
}

function sourceTable(file, lines, all, path, onPath, onLine) {
	const text = sourceText.get(file) || new Map();
	const peak = Math.max(...Array.from(lines.values(), (line) => line.insns));
	const body = element('tbody');
	let last = 0;
	for (const n of shownLines(file, lines)) {
		const line = lines.get(n);
		if (last && n > last + 1)
			body.append(
				element(
					'tr',
					{ className: 'gap' },
					element('td', { colSpan: path ? 5 : 4 }, '⋯'),
				),
			);
		last = n;
		const row = element(
			'tr',
			{ data: { line: n }, on: { click: () => onLine(n) } },
			line ? shareCell(line.insns, all) : element('td'),
			line ? numberCell(line.times) : element('td'),
			...(path ? [pathCell(path, onPath.has(n))] : []),
			element('td', { className: 'number line' }, String(n)),
			element('td', { className: 'code' }, text.has(n) ? text.get(n) : ''),
		);
		heat(row, line ? line.insns : 0, peak);
		row.classList.toggle('on-path', onPath.has(n));
		body.append(row);
	}
	return element(
		'table',
		{ className: 'source' },
		element(
			'thead',
			null,
			element(
				'tr',
				null,
				element('th', { title: 'instructions of the line' }, 'self'),
				element(
					'th',
					{
						title: 'times its most executed instruction ran',
					},
					'times',
				),
				...pathHeading(path),
				element('th', null, 'line'),
				element('th', { className: 'name' }, 'source'),
			),
		),
		body,
	);
}

function assemblyTable(code, path, onRow) {
	const peak = Math.max(...code.count, 1);
	const body = element('tbody');
	for (let i = 0; i < code.at.length; i++) {
		const row = element(
			'tr',
			{ data: { index: i }, on: { click: () => onRow(i) } },
			numberCell(code.count[i]),
			...(path ? [pathCell(path, path.code.has(i))] : []),
			element('td', { className: 'address' }, code.at[i].slice(2)),
			element('td', { className: 'code' }, code.text[i]),
			element(
				'td',
				{ className: 'number line' },
				code.line[i] ? String(code.line[i]) : '',
			),
		);
		heat(row, code.count[i], peak);
		row.classList.toggle('on-path', Boolean(path) && path.code.has(i));
		body.append(row);
	}
	return element(
		'table',
		{ className: 'assembly' },
		element(
			'thead',
			null,
			element(
				'tr',
				null,
				element('th', null, 'times'),
				...pathHeading(path),
				element('th', { className: 'address' }, 'address'),
				element('th', { className: 'name' }, 'instruction'),
				element('th', null, 'line'),
			),
		),
		body,
	);
}

/* Mark the lines and instructions that belong together. */
function mark(view, code, file, line) {
	for (const row of view.querySelectorAll('.source tr[data-line]'))
		row.classList.toggle('marked', Number(row.dataset.line) === line);
	let first = null;
	for (const row of view.querySelectorAll('.assembly tr[data-index]')) {
		const i = Number(row.dataset.index);
		const same = code.line[i] === line && code.file[i] === file;
		row.classList.toggle('marked', same);
		first = first || (same ? row : null);
	}
	return first;
}

function noCode(view, f) {
	const has = f !== undefined;
	view.append(
		element(
			'p',
			{ className: 'note' },
			has
				? `This page has no instructions of ${functionName(f)}: ` +
						`it has those of the ${exact(codeOf.size)} ` +
						'functions that executed most.'
				: 'Nothing was executed in this focus.',
		),
	);
	if (has)
		view.append(
			element(
				'pre',
				{ className: 'command' },
				'depctl query edges --annotate FUNCTION STORE',
			),
		);
	return {};
}

function sourceView(view) {
	const f = shownFunction();
	const code = codeOf.get(f);
	if (!code) return noCode(view, f);
	const files = lineCounts(code);
	const path = pathCode(f);
	const all = code.count.reduce((sum, n) => sum + n, 0);
	const order = Array.from(files.keys()).sort(
		(a, b) => sum(files.get(b)) - sum(files.get(a)),
	);
	const left = element('div', { className: 'pane' });
	const right = element('div', { className: 'pane' });
	let shown = -1;
	function sum(lines) {
		return Array.from(lines.values()).reduce((n, line) => n + line.insns, 0);
	}
	function share(file) {
		return percent(sum(files.get(file)), all);
	}
	function show(file) {
		shown = file;
		left.replaceChildren();
		if (order.length > 1)
			left.append(
				element(
					'select',
					{
						ariaLabel: 'Source file',
						value: file,
						on: { change: (e) => show(Number(e.target.value)) },
					},
					...order.map((n) =>
						element(
							'option',
							{ value: n, selected: n === file },
							`${share(n)}  ${data.files[n]}`,
						),
					),
				),
			);
		else left.append(element('p', { className: 'path' }, data.files[file]));
		if (data.newer.includes(file))
			left.append(
				element(
					'p',
					{ className: 'warning' },
					'This file was modified after the recording began: ' +
						'lines may be wrong.',
				),
			);
		if (!sourceText.has(file))
			left.append(
				element(
					'p',
					{ className: 'note' },
					'The text of this file is not in the page.',
				),
			);
		left.append(
			sourceTable(
				file,
				files.get(file),
				all,
				path,
				pathLines(code, file, path),
				(n) => {
					const row = mark(view, code, file, n);
					if (row)
						right.scrollTop =
							row.offsetTop - right.clientHeight / 3;
				},
			),
		);
	}
	view.append(
		element(
			'h2',
			{ className: 'title' },
			functionName(f),
			element('span', { className: 'module' }, moduleName(f)),
		),
		element(
			'p',
			{ className: 'note' },
			`${exact(all)} instructions in it, ` +
				`${percent(all, data.insns)} of the recording; ` +
				'counts are of the whole recording.',
		),
	);
	if (order.length) show(pathFile(code, path, order[0]));
	else
		left.append(
			element(
				'p',
				{ className: 'note' },
				'No source lines are known: build with -g.',
			),
		);
	right.append(
		assemblyTable(code, path, (i) => {
			if (code.file[i] < 0) return;
			if (code.file[i] !== shown) show(code.file[i]);
			mark(view, code, code.file[i], code.line[i]);
			const row = left.querySelector(`tr[data-line="${code.line[i]}"]`);
			if (row) left.scrollTop = row.offsetTop - left.clientHeight / 3;
		}),
	);
	view.append(
		element(
			'div',
			{ className: order.length ? 'panes' : 'panes without' },
			left,
			right,
		),
	);
	for (const pane of path ? [left, right] : []) {
		const first = pane.querySelector('.on-path');
		if (first) pane.scrollTop = first.offsetTop - pane.clientHeight / 3;
	}
	return {};
}
