// SPDX-License-Identifier: GPL-2.0-or-later
// Elements.  Text is only ever set as text: names come from the recorded program.

function element(name, options, ...content) {
	const e = document.createElement(name);
	const { on, data: attributes, ...properties } = options || {};
	Object.assign(e, properties);
	for (const [event, handler] of Object.entries(on || {})) e.addEventListener(event, handler);
	Object.assign(e.dataset, attributes || {});
	e.append(...content);
	return e;
}

function byId(id) {
	return document.getElementById(id);
}

/* A cell with a number: short, the exact one as its title. */
function numberCell(n, text) {
	return element('td', { className: 'number', title: exact(n) }, text || short(n));
}

/* A cell with a share as number and bar. */
function shareCell(n, all, className) {
	const bar = element('span', { className: `bar ${className || ''}` });
	bar.style.width = `${all ? Math.min(100, (100 * n) / all) : 0}%`;
	return element(
		'td',
		{ className: 'share', title: `${exact(n)} instructions` },
		bar,
		element('span', { className: 'share-text' }, percent(n, all)),
	);
}

/* ---- the box with details next to the pointer ---- */

function showTip(event, lines) {
	const tip = byId('tip');
	tip.replaceChildren(
		...lines.map((line, i) => element('div', { className: i ? '' : 'tip-name' }, line)),
	);
	tip.hidden = false;
	const box = tip.getBoundingClientRect();
	const x = Math.min(event.clientX + 14, innerWidth - box.width - 6);
	const y =
		event.clientY + 18 + box.height > innerHeight
			? event.clientY - box.height - 10
			: event.clientY + 18;
	tip.style.left = `${Math.max(4, x)}px`;
	tip.style.top = `${Math.max(4, y)}px`;
}

function hideTip() {
	byId('tip').hidden = true;
}

/* ---- canvases ---- */

function cssColor(name) {
	return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function isDark() {
	return matchMedia('(prefers-color-scheme: dark)').matches;
}

/* Set a canvas' size in CSS pixels; returns its context, scaled. */
function sizeCanvas(canvas, width, height) {
	const scale = Math.min(devicePixelRatio || 1, 2);
	canvas.width = Math.max(1, Math.round(width * scale));
	canvas.height = Math.max(1, Math.round(height * scale));
	canvas.style.width = `${width}px`;
	canvas.style.height = `${height}px`;
	const context = canvas.getContext('2d');
	context.setTransform(scale, 0, 0, scale, 0, 0);
	return context;
}

/* Cut a text so that it fits; all characters of the font have the same width. */
function fit(text, width, charWidth) {
	const room = Math.floor(width / charWidth);
	if (text.length <= room) return text;
	return room < 3 ? '' : `${text.slice(0, room - 1)}…`;
}

/* ---- colors ---- */

function hashText(text) {
	let h = 2166136261;
	for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 16777619) >>> 0;
	return h;
}

const colorCache = new Map();

/* Place of each module among those with most instructions. */
const moduleRank = (() => {
	const sums = data.modules.map(() => 0);
	functions.self.forEach((insns, f) => {
		sums[functions.module[f]] += insns;
	});
	const rank = [];
	Array.from(sums.keys())
		.sort((a, b) => sums[b] - sums[a] || a - b)
		.forEach((module, place) => {
			rank[module] = place;
		});
	return rank;
})();

/* Functions of one module have similar colors. */
function functionColor(f) {
	const key = `${f} ${isDark()}`;
	let color = colorCache.get(key);
	if (!color) {
		const module = f < 0 ? 0 : moduleRank[functions.module[f]] || 0;
		const h = hashText(functionName(f));
		const hue = (12 + module * 137.5 + (h % 42)) % 360;
		const light = isDark() ? 32 + ((h >> 8) % 9) : 72 + ((h >> 8) % 10);
		color =
			f < 0
				? cssColor('--other')
				: `hsl(${hue} ${isDark() ? 36 : 55}% ${light}%)`;
		colorCache.set(key, color);
	}
	return color;
}
