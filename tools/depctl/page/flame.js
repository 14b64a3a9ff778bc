// SPDX-License-Identifier: GPL-2.0-or-later
// Flame graphs and icicles on a canvas.  Only boxes that are at least half a pixel wide are drawn.

const ROW = 19;
const FONT = '11.5px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace';
const CHAR = 6.95;

/*
 * A flame graph in a canvas.
 * options.up: the root is at the bottom
 * options.onZoom: called with a node that is to be as wide as the canvas; without it there is no
 *	zoom
 * options.root: the root is the function that the graph is about
 * options.selfCounts: false if nodes have no instructions of their own
 */
class Flame {
	constructor(canvas, options) {
		this.canvas = canvas;
		this.options = options;
		this.boxes = [];
		this.cursor = -1;
		canvas.tabIndex = 0;
		canvas.addEventListener('mousemove', (e) => this.hover(e));
		canvas.addEventListener('mouseleave', hideTip);
		canvas.addEventListener('click', (e) => this.click(e));
		canvas.addEventListener('dblclick', () => this.zoomTo({ node: this.cursor }));
		canvas.addEventListener('keydown', (e) => this.key(e));
	}

	setTree(tree, zoom) {
		this.tree = tree;
		this.zoom = zoom < tree.parent.length ? zoom : 0;
		this.cursor = -1;
		this.layout();
		this.draw();
	}

	/* Boxes of the zoomed node's ancestors, then of all below it. */
	layout() {
		const t = this.tree;
		const width = this.canvas.parentElement.clientWidth;
		const chain = [];
		for (let i = this.zoom; i !== 0; i = t.parent[i]) chain.unshift(t.parent[i]);
		this.width = width;
		this.boxes = chain.map((node, depth) => ({ node, x: 0, w: width, depth }));
		const scale = t.value[this.zoom] ? width / t.value[this.zoom] : 0;
		const stack = [{ node: this.zoom, x: 0, w: width, depth: chain.length }];
		let deepest = chain.length;
		while (stack.length) {
			const box = stack.pop();
			let x = box.x;
			this.boxes.push(box);
			deepest = Math.max(deepest, box.depth);
			for (const node of t.children[box.node]) {
				const w = t.value[node] * scale;
				if (w >= 0.5) stack.push({ node, x, w, depth: box.depth + 1 });
				x += w;
			}
		}
		this.rows = deepest + 1;
		this.byNode = new Map(this.boxes.map((box) => [box.node, box]));
	}

	top(box) {
		return (this.options.up ? this.rows - 1 - box.depth : box.depth) * ROW;
	}

	color(box) {
		const f = this.tree.fn(box.node);
		if (matches) return f >= 0 && matches[f] ? cssColor('--match') : cssColor('--dim');
		if (focus.fn >= 0 && !this.options.root)
			return f === focus.fn ? cssColor('--accent') : cssColor('--dim');
		return this.options.root && !box.node ? cssColor('--accent') : functionColor(f);
	}

	strong(box) {
		const f = this.tree.fn(box.node);
		if (this.options.root && !box.node) return !matches;
		return f >= 0 && (matches ? matches[f] : f === focus.fn && !this.options.root);
	}

	draw() {
		const height = Math.max(
			this.rows * ROW,
			this.options.up ? this.canvas.parentElement.clientHeight - 2 : ROW,
		);
		this.shift = this.options.up ? height - this.rows * ROW : 0;
		const c = sizeCanvas(this.canvas, this.width, height);
		const ink = cssColor('--box-text');
		const strong = cssColor('--strong-text');
		c.clearRect(0, 0, this.width, height);
		c.font = FONT;
		c.textBaseline = 'middle';
		for (const box of this.boxes) {
			const y = this.shift + this.top(box);
			const w = Math.max(box.w - (box.w > 3 ? 1 : 0), 0.5);
			c.fillStyle = this.color(box);
			c.globalAlpha = this.byNode.get(this.zoom).depth > box.depth ? 0.6 : 1;
			c.fillRect(box.x, y, w, ROW - 1);
			c.globalAlpha = 1;
			const text = fit(this.tree.name(box.node), box.w - 8, CHAR);
			if (text) {
				c.fillStyle = this.strong(box) ? strong : ink;
				c.fillText(text, box.x + 4, y + ROW / 2);
			}
		}
		const at = this.byNode.get(this.cursor);
		if (at) {
			c.strokeStyle = cssColor('--text');
			c.lineWidth = 2;
			c.strokeRect(
				at.x + 1,
				this.shift + this.top(at) + 1,
				Math.max(at.w - 2, 1),
				ROW - 3,
			);
		}
	}

	boxAt(event) {
		const area = this.canvas.getBoundingClientRect();
		const x = event.clientX - area.left;
		const row = Math.floor((event.clientY - area.top - this.shift) / ROW);
		const depth = this.options.up ? this.rows - 1 - row : row;
		return this.boxes.find(
			(b) => b.depth === depth && x >= b.x && x < b.x + Math.max(b.w, 1),
		);
	}

	describe(node) {
		const t = this.tree;
		const all = weight.inclusive[0];
		const f = t.fn(node);
		const lines = [t.name(node)];
		lines.push(`${exact(t.value[node])} instructions, ${percent(t.value[node], all)}`);
		if (this.options.selfCounts !== false)
			lines.push(
				`${exact(t.self[node])} in itself, ${percent(t.self[node], all)}`,
			);
		if (!t.source && node && nodes.calls[node])
			lines.push(
				`entered ${exact(nodes.calls[node])} times` +
					(weight.partial ? ' in the whole recording' : ''),
			);
		if (f >= 0) lines.push(moduleName(f));
		if (!t.source && nodes.kind[node] === KIND.SMALLER)
			lines.push(`each below ${exact(data.least)} instructions, or too deep`);
		if (!t.source && guesses.has(node))
			lines.push('a caller at the attach, found without unwind tables');
		return lines;
	}

	hover(event) {
		const box = this.boxAt(event);
		if (box) showTip(event, this.describe(box.node));
		else hideTip();
		this.canvas.style.cursor = box ? 'pointer' : 'default';
	}

	select(node) {
		this.cursor = node;
		showDetails(
			this.describe(node),
			this.tree.fn(node),
			this.options.onZoom && node ? () => this.zoomTo({ node }) : null,
		);
		this.draw();
	}

	click(event) {
		/* The first click of two selects, which can move what is below the pointer. */
		const box = event.detail > 1 ? null : this.boxAt(event);
		if (!box) return;
		/* A click on an ancestor of what is shown leads back to it. */
		if (this.options.onZoom && box.depth < this.byNode.get(this.zoom).depth)
			this.zoomTo(box);
		else this.select(box.node);
	}

	zoomTo(box) {
		hideTip();
		if (box && box.node >= 0 && this.options.onZoom) this.options.onZoom(box.node);
	}

	/* The box next to the cursor in the direction of an arrow key. */
	next(key) {
		const t = this.tree;
		const at = this.byNode.get(this.cursor);
		if (!at) return this.byNode.get(this.zoom);
		const deeper = this.options.up ? 'ArrowUp' : 'ArrowDown';
		const siblings = t.children[t.parent[at.node]];
		if (key === 'ArrowLeft' || key === 'ArrowRight') {
			const k = siblings.indexOf(at.node) + (key === 'ArrowLeft' ? -1 : 1);
			return this.byNode.get(siblings[k]);
		}
		return this.byNode.get(key === deeper ? t.children[at.node][0] : t.parent[at.node]);
	}

	key(event) {
		if (event.key.startsWith('Arrow')) {
			const box = this.next(event.key);
			if (box) this.select(box.node);
			if (box) this.reveal(box);
		} else if (event.key === 'Enter' && this.cursor >= 0) {
			this.zoomTo({ node: this.cursor });
		} else if (event.key === ' ' && this.cursor >= 0) {
			setFocus({ fn: this.tree.fn(this.cursor) });
		} else {
			return;
		}
		event.preventDefault();
		event.stopPropagation();
	}

	reveal(box) {
		const frame = this.canvas.parentElement;
		const y = this.shift + this.top(box) + this.canvas.offsetTop - frame.offsetTop;
		if (y < frame.scrollTop || y + ROW > frame.scrollTop + frame.clientHeight)
			frame.scrollTop = y - frame.clientHeight / 2;
	}
}
