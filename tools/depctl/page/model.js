// SPDX-License-Identifier: GPL-2.0-or-later
// The page's data, and sums over the part of it that is in focus.

const KIND = { START: 1, CALL: 2, TAIL: 3, SIGNAL: 4, THREAD: 5, SMALLER: 16, PROCESS: 17 };
// Characters that change the direction of text would let a name show itself as another one.
const DIRECTION = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
const data = JSON.parse(document.getElementById('data').textContent.replace(DIRECTION, '\ufffd'));
const nodes = data.nodes;
const functions = data.functions;
const NODES = nodes.parent.length;
const FUNCTIONS = functions.name.length;
const BUCKETS = data.time.buckets;
const stubs = new Set(functions.stubs);
const guesses = new Set(nodes.guesses);
const codeOf = new Map(data.code.map((code) => [code.function, code]));

/* ---- names and numbers ---- */

function baseName(path) {
	return path ? path.slice(path.lastIndexOf('/') + 1) : '';
}

/* An entry of a procedure linkage table has the name of the function that it jumps to. */
function functionName(f) {
	if (f < 0) return '[unknown]';
	const name = functions.name[f] || '[no name]';
	return stubs.has(f) ? `${name}@plt` : name;
}

function moduleName(f) {
	return f < 0 ? '' : data.modules[functions.module[f]] || '';
}

function processName(i) {
	const p = data.processes[i];
	return p ? `process ${p.pid} ${baseName(p.exe)}` : 'process';
}

function threadName(i) {
	const t = data.threads[i];
	if (t.others !== undefined) return `${t.others} other threads`;
	return `${t.tid} ${t.name || ''}`.trim();
}

function plainName(i) {
	if (nodes.kind[i] === KIND.SMALLER) return `(${nodes.joined[i]} smaller)`;
	if (nodes.kind[i] === KIND.PROCESS) return processName(nodes.function[i]);
	if (i === 0) return 'all';
	const name = functionName(nodes.function[i]);
	return nodes.kind[i] === KIND.SIGNAL ? `${name} (signal handler)` : name;
}

/* The name of a node, with a mark if it is a caller at an attach that may be wrong. */
function nodeName(i) {
	return guesses.has(i) ? `${plainName(i)} (guess)` : plainName(i);
}

/* The function of a node; -1 if it has none. */
function nodeFunction(i) {
	return nodes.kind[i] === KIND.PROCESS || nodes.kind[i] === KIND.SMALLER
		? -1
		: nodes.function[i];
}

function exact(n) {
	return Math.round(n)
		.toString()
		.replace(/\B(?=(\d{3})+$)/g, '\u202f');
}

function short(n) {
	if (n < 100000) return exact(n);
	const units = ['', 'k', 'M', 'G', 'T', 'P', 'E'];
	let u = 0;
	while (n >= 999.95 && u < units.length - 1) {
		n /= 1000;
		u++;
	}
	return `${n.toFixed(1)}\u202f${units[u]}`;
}

function percent(part, all) {
	const p = all ? (100 * part) / all : 0;
	return `${p.toFixed(p >= 99.95 || p === 0 ? 0 : p < 0.1 ? 2 : 1)}\u202f%`;
}

function duration(ns) {
	const units = [
		['s', 1e9],
		['ms', 1e6],
		['µs', 1e3],
	];
	for (const [name, size] of units)
		if (ns >= size) return `${+(ns / size).toPrecision(4)}\u202f${name}`;
	return `${Math.round(ns)}\u202fns`;
}

/* ---- the tree ---- */

const children = Array.from({ length: NODES }, () => []);
for (let i = 1; i < NODES; i++) children[nodes.parent[i]].push(i);

/* Instructions in focus, by node. */
const weight = {
	self: new Float64Array(NODES),
	inclusive: new Float64Array(NODES),
	partial: false,
};

function weigh(focus) {
	const rows = data.rows;
	const self = weight.self;
	weight.partial = focus.thread >= 0 || focus.from > 0 || focus.to < BUCKETS;
	if (weight.partial) {
		self.fill(0);
		for (let i = 0; i < rows.node.length; i++) {
			if (
				(focus.thread < 0 || rows.thread[i] === focus.thread) &&
				rows.bucket[i] >= focus.from &&
				rows.bucket[i] < focus.to
			)
				self[rows.node[i]] += rows.insns[i];
		}
	} else {
		self.set(nodes.self);
	}
	weight.inclusive.set(self);
	for (let i = NODES - 1; i > 0; i--)
		weight.inclusive[nodes.parent[i]] += weight.inclusive[i];
	for (const list of children)
		list.sort((a, b) => weight.inclusive[b] - weight.inclusive[a] || a - b);
}

/* Call enter(i) and leave(i) for all nodes below the root, depth first. */
function walk(enter, leave) {
	const stack = [0];
	while (stack.length) {
		const i = stack.pop();
		if (i < 0) {
			leave(~i);
			continue;
		}
		enter(i);
		stack.push(~i);
		for (let k = children[i].length - 1; k >= 0; k--) stack.push(children[i][k]);
	}
}

/*
 * Nodes that have no other node above them for which match() is true; of a function that calls
 * itself, the outermost calls.
 */
function outermost(match) {
	const found = [];
	let inside = 0;
	walk(
		(i) => {
			if (match(i) && !inside++) found.push(i);
		},
		(i) => {
			inside -= match(i) ? 1 : 0;
		},
	);
	return found;
}

/* Sums of all functions in focus: exact ones of the recording, else those of the nodes. */
function functionSums() {
	if (!weight.partial) return { self: functions.self, inclusive: functions.inclusive };
	const self = new Float64Array(FUNCTIONS);
	const inclusive = new Float64Array(FUNCTIONS);
	const active = new Uint32Array(FUNCTIONS);
	walk(
		(i) => {
			const f = nodeFunction(i);
			if (f < 0) return;
			self[f] += weight.self[i];
			if (!active[f]++) inclusive[f] += weight.inclusive[i];
		},
		(i) => {
			const f = nodeFunction(i);
			if (f >= 0) active[f]--;
		},
	);
	return { self, inclusive };
}

/*
 * A tree to be drawn: arrays by node, node 0 is the root.  source is the node of the recording that
 * a node stands for, or one of them.
 */
function wholeTree() {
	return {
		parent: nodes.parent,
		value: weight.inclusive,
		self: weight.self,
		children,
		source: null,
		name: nodeName,
		fn: nodeFunction,
	};
}

function newTree(source) {
	const t = {
		parent: [0],
		value: [0],
		self: [0],
		children: [[]],
		source: [source],
		keys: [new Map()],
	};
	t.name = (i) => plainName(t.source[i]);
	t.fn = (i) => nodeFunction(t.source[i]);
	return t;
}

/* The child of a node of a tree that stands for the same function as source. */
function childOf(t, parent, source) {
	const kind = nodes.kind[source];
	const key =
		kind === KIND.SMALLER
			? 's'
			: kind === KIND.PROCESS
				? `p${nodes.function[source]}`
				: source === 0
					? 'r'
					: nodes.function[source];
	let i = t.keys[parent].get(key);
	if (i === undefined) {
		i = t.parent.length;
		t.parent.push(parent);
		t.value.push(0);
		t.self.push(0);
		t.children.push([]);
		t.source.push(source);
		t.keys.push(new Map());
		t.keys[parent].set(key, i);
		t.children[parent].push(i);
	}
	return i;
}

function sortTree(t) {
	for (const list of t.children) list.sort((a, b) => t.value[b] - t.value[a] || a - b);
	return t;
}

/* Who calls f: its callers are children, their callers are children of these. */
function callerTree(roots) {
	const t = newTree(roots[0]);
	for (const root of roots) {
		let at = 0;
		t.value[0] += weight.inclusive[root];
		for (let i = root; i !== 0;) {
			i = nodes.parent[i];
			if (i === 0) break;
			at = childOf(t, at, i);
			t.value[at] += weight.inclusive[root];
		}
	}
	return sortTree(t);
}

/* What the nodes call, as one tree. */
function calleeTree(roots) {
	const t = newTree(roots[0]);
	for (const root of roots) {
		const stack = [[root, 0]];
		while (stack.length) {
			const [i, at] = stack.pop();
			t.value[at] += weight.inclusive[i];
			t.self[at] += weight.self[i];
			for (const child of children[i])
				if (weight.inclusive[child])
					stack.push([child, childOf(t, at, child)]);
		}
	}
	return sortTree(t);
}
