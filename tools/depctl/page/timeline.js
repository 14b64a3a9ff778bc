// SPDX-License-Identifier: GPL-2.0-or-later
// Instructions over time, by thread.  A range of time is selected by dragging.

const LABEL = 132;
const TOP_FUNCTIONS = 7;

/* Functions with most instructions of their own in focus; each has a color of its own. */
function topFunctions() {
	const self = functionSums().self;
	return Array.from(self.keys())
		.filter((f) => self[f] > 0)
		.sort((a, b) => self[b] - self[a] || a - b)
		.slice(0, TOP_FUNCTIONS);
}

/*
 * Layers of the bars: of the function in focus or the search, with what it calls, else of the top
 * functions.  layerOf[node] is the layer of a node's own instructions; 0 is for all others.
 */
function chartLayers() {
	const layerOf = new Uint8Array(NODES);
	const match = matches ? (f) => matches[f] : (f) => f === focus.fn;
	if (matches || focus.fn >= 0) {
		for (let i = 1; i < NODES; i++) {
			const f = nodeFunction(i);
			layerOf[i] = layerOf[nodes.parent[i]] || (f >= 0 && match(f) ? 1 : 0);
		}
		const name = matches
			? `"${focus.query}" and what it calls`
			: `${functionName(focus.fn)} and what it calls`;
		return {
			layerOf,
			names: ['all else', name],
			colors: [
				cssColor('--bar-rest'),
				cssColor(matches ? '--match' : '--accent'),
			],
		};
	}
	const top = topFunctions();
	const layer = new Map(top.map((f, k) => [f, k + 1]));
	for (let i = 1; i < NODES; i++) layerOf[i] = layer.get(nodeFunction(i)) || 0;
	return {
		layerOf,
		names: ['all else', ...top.map(functionName)],
		functions: [-1, ...top],
		colors: [cssColor('--bar-rest'), ...top.map((f, k) => cssColor(`--layer${k + 1}`))],
	};
}

/* Sums by row, interval and layer; row is the thread, or 0 with all in one row. */
function chartSums(layers, threads, one) {
	const n = layers.names.length;
	const sums = new Float64Array((one ? 1 : threads.length) * BUCKETS * n);
	const rowOf = new Map(threads.map((t, k) => [t, one ? 0 : k]));
	const rows = data.rows;
	for (let i = 0; i < rows.node.length; i++) {
		const row = rowOf.get(rows.thread[i]);
		if (row !== undefined)
			sums[(row * BUCKETS + rows.bucket[i]) * n + layers.layerOf[rows.node[i]]] +=
				rows.insns[i];
	}
	return sums;
}

/* The least of 1, 2, 5, 10, 20, 50 ... that is not below n. */
function roundStep(n) {
	const power = 10 ** Math.floor(Math.log10(Math.max(n, 1)));
	return power * [1, 2, 5, 10].find((k) => k * power >= n);
}

/*
 * A chart in a canvas.  options.one: all threads in one row without labels;
 * options.height: of a row
 */
class TimeChart {
	constructor(canvas, options) {
		this.canvas = canvas;
		this.options = options;
		this.left = options.one ? 0 : LABEL;
		canvas.addEventListener('pointerdown', (e) => this.begin(e));
		canvas.addEventListener('pointermove', (e) => this.move(e));
		canvas.addEventListener('pointerup', (e) => this.end(e));
		canvas.addEventListener('pointerleave', hideTip);
		canvas.addEventListener('dblclick', () => setFocus({ from: 0, to: BUCKETS }));
	}

	update() {
		this.threads = data.threads.map((t, i) => i);
		if (this.options.one && focus.thread >= 0) this.threads = [focus.thread];
		this.layers = chartLayers();
		this.sums = chartSums(this.layers, this.threads, this.options.one);
		this.draw();
	}

	draw() {
		const width = this.canvas.parentElement.clientWidth;
		const rows = this.options.one ? 1 : this.threads.length;
		this.left = this.options.one ? 0 : Math.min(LABEL, width / 3);
		this.right = width;
		this.axis = this.options.one ? 0 : 22;
		const c = sizeCanvas(this.canvas, width, rows * this.options.height + this.axis);
		c.font = FONT;
		c.textBaseline = 'middle';
		if (!this.options.one) this.drawAxis(c);
		const peak = this.peak(rows);
		for (let row = 0; row < rows; row++) this.drawRow(c, row, peak);
		this.drawRange(c, rows);
	}

	peak(rows) {
		const n = this.layers.names.length;
		let peak = 0;
		for (let i = 0; i < rows * BUCKETS; i++) {
			let sum = 0;
			for (let k = 0; k < n; k++) sum += this.sums[i * n + k];
			peak = Math.max(peak, sum);
		}
		return peak;
	}

	x(bucket) {
		return this.left + ((this.right - this.left) * bucket) / BUCKETS;
	}

	drawRow(c, row, peak) {
		const n = this.layers.names.length;
		const height = this.options.height - 6;
		const base = this.axis + (row + 1) * this.options.height - 3;
		if (!this.options.one) {
			const thread = this.threads[row];
			c.fillStyle =
				focus.thread < 0 || focus.thread === thread
					? cssColor('--text')
					: cssColor('--faint');
			c.fillText(
				fit(threadName(thread), this.left - 10, CHAR),
				4,
				base - height * 0.65,
			);
			c.fillStyle = cssColor('--faint');
			c.fillText(short(data.threads[thread].insns), 4, base - height * 0.2);
			c.fillRect(this.left, base, this.right - this.left, 1);
		}
		c.globalAlpha =
			focus.thread < 0 || this.options.one || focus.thread === this.threads[row]
				? 1
				: 0.3;
		for (let b = 0; b < BUCKETS; b++) {
			let y = base;
			for (let k = n - 1; k >= 0; k--) {
				const h = peak
					? (height * this.sums[(row * BUCKETS + b) * n + k]) / peak
					: 0;
				if (!h) continue;
				c.fillStyle = this.layers.colors[k];
				c.fillRect(
					this.x(b),
					y - h,
					Math.max(this.x(b + 1) - this.x(b), 1),
					h,
				);
				y -= h;
			}
		}
		c.globalAlpha = 1;
	}

	drawAxis(c) {
		const all = BUCKETS * data.time.bucket_ns;
		const step = roundStep((all * 90) / (this.right - this.left));
		c.fillStyle = cssColor('--faint');
		for (let ns = 0; ns < all; ns += step) {
			const x = this.x(ns / data.time.bucket_ns);
			if (x + 60 < this.right) c.fillText(duration(ns), x + 4, 9);
			c.fillRect(x, 2, 1, 14);
		}
	}

	drawRange(c, rows) {
		const range = this.drag || focus;
		const height = rows * this.options.height + this.axis;
		if (range.from <= 0 && range.to >= BUCKETS) return;
		c.fillStyle = cssColor('--veil');
		c.fillRect(this.left, this.axis, this.x(range.from) - this.left, height);
		c.fillRect(this.x(range.to), this.axis, this.right - this.x(range.to), height);
		c.fillStyle = cssColor('--accent');
		c.fillRect(this.x(range.from) - 1, this.axis, 2, height);
		c.fillRect(this.x(range.to) - 1, this.axis, 2, height);
	}

	bucketAt(event) {
		const x = event.clientX - this.canvas.getBoundingClientRect().left;
		const b = ((x - this.left) / (this.right - this.left)) * BUCKETS;
		return Math.max(0, Math.min(BUCKETS - 1, Math.floor(b)));
	}

	rowAt(event) {
		const y = event.clientY - this.canvas.getBoundingClientRect().top - this.axis;
		const row = Math.floor(y / this.options.height);
		return this.options.one || row < 0 || row >= this.threads.length ? -1 : row;
	}

	begin(event) {
		const x = event.clientX - this.canvas.getBoundingClientRect().left;
		const row = this.rowAt(event);
		if (x < this.left && row >= 0) {
			const thread = this.threads[row];
			setFocus({ thread: focus.thread === thread ? -1 : thread });
			return;
		}
		this.anchor = this.bucketAt(event);
		this.canvas.setPointerCapture(event.pointerId);
	}

	move(event) {
		if (this.anchor === undefined) {
			this.hover(event);
			return;
		}
		const b = this.bucketAt(event);
		if (b === this.anchor && !this.drag) return;
		this.drag = { from: Math.min(b, this.anchor), to: Math.max(b, this.anchor) + 1 };
		this.draw();
	}

	end() {
		const drag = this.drag;
		this.anchor = this.drag = undefined;
		if (drag) setFocus({ from: drag.from, to: drag.to });
	}

	hover(event) {
		const row = this.options.one ? 0 : this.rowAt(event);
		const b = this.bucketAt(event);
		const n = this.layers.names.length;
		if (row < 0) {
			hideTip();
			return;
		}
		const part = Array.from(
			this.sums.slice((row * BUCKETS + b) * n, (row * BUCKETS + b + 1) * n),
		);
		const all = part.reduce((sum, v) => sum + v, 0);
		const lines = [`${duration(b * data.time.bucket_ns)}: ${exact(all)} instructions`];
		if (!this.options.one) lines.unshift(`thread ${threadName(this.threads[row])}`);
		part.map((v, k) => [v, k])
			.filter(([v]) => v)
			.sort((a, c) => c[0] - a[0])
			.forEach(([v, k]) =>
				lines.push(`${percent(v, all)}  ${this.layers.names[k]}`),
			);
		showTip(event, lines);
	}
}

function timelineView(view) {
	const frame = element('div', { className: 'frame' });
	const legend = element('p', { className: 'legend' });
	const canvas = element('canvas', { className: 'timeline' });
	frame.append(canvas);
	view.append(legend, frame);
	const chart = new TimeChart(canvas, { height: 46 });
	chart.update();
	chart.layers.names.forEach((name, k) => {
		const swatch = element('span', { className: 'swatch' });
		swatch.style.background = chart.layers.colors[k];
		const f = chart.layers.functions ? chart.layers.functions[k] : -1;
		legend.append(
			element(
				f >= 0 ? 'button' : 'span',
				{
					className: 'legend-entry',
					title: name,
					on: f >= 0 ? { click: () => setFocus({ fn: f }) } : {},
				},
				swatch,
				element('span', { className: 'legend-name' }, name),
			),
		);
	});
	view.append(
		element(
			'p',
			{ className: 'note' },
			BUCKETS > 1
				? 'Drag to select a time range, double click to select all; ' +
						"click a thread's name to select it. " +
						'Times are those of the recording, ' +
						'which is slower than the program alone.'
				: 'The recording has no times.',
		),
	);
	return { resize: () => chart.draw() };
}
