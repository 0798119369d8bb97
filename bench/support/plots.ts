/**
 * Line plots as SVG, by hand: one measure over a quantity that was varied in powers (log scale), a line for each side with
 * its name at its end. Legible on light and dark pages. Pure.
 */

import { figure } from "./report.ts";
import type { Series } from "./suite.ts";

const WIDTH = 640;
const HEIGHT = 320;
/** Room for the axes' figures and the lines' names. */
const MARGIN = { top: 44, right: 112, bottom: 44, left: 64 };
const PLOT = {
	left: MARGIN.left,
	right: WIDTH - MARGIN.right,
	top: MARGIN.top,
	bottom: HEIGHT - MARGIN.bottom,
};
const LABEL_GAP = 16;
const TICKS = 4;
/** Beyond this a linear axis would press the smaller line flat. */
const LOG_FROM_RATIO = 20;

const STYLE = [
	"text{font:12px system-ui,sans-serif;fill:#3d444d}",
	".title{font-size:14px;font-weight:600;fill:#1f2328}",
	".grid{stroke:#d1d9e0;stroke-width:1}",
	".line{fill:none;stroke-width:2.5;stroke-linejoin:round}",
	".s0{stroke:#0969da}.d0{fill:#0969da}",
	".s1{stroke:#bc4c00}.d1{fill:#bc4c00}",
	"@media(prefers-color-scheme:dark){text{fill:#b7bdc8}.title{fill:#f0f6fc}.grid{stroke:#3d444d}",
	".s0{stroke:#58a6ff}.d0{fill:#58a6ff}.s1{stroke:#f0883e}.d1{fill:#f0883e}}",
].join("");

/** `series` are of one measure; `xName` says what was varied. */
export function toSvg(series: readonly Series[], xName: string): string {
	const [{ measure, unit } = { measure: "", unit: "" }] = series;
	const xs = [...new Set(series.flatMap(({ points }) => points.map(({ x }) => x)))].sort((a, b) => a - b);
	const ys = series.flatMap(({ points }) => points.map(({ y }) => y));
	const toX = logScale(xs[0] ?? 1, xs.at(-1) ?? 1, PLOT.left, PLOT.right);
	const axis = yAxis(Math.min(...ys), Math.max(...ys));
	const title = `${measure} (${unit})${axis.isLog ? ", log scale" : ""}`;
	return [
		`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" width="${WIDTH}" height="${HEIGHT}" role="img" aria-label="${toXml(title)}">`,
		`<style>${STYLE}</style>`,
		`<text class="title" x="${PLOT.left}" y="22">${toXml(title)}</text>`,
		...axis.ticks.flatMap((tick) => [
			`<line class="grid" x1="${PLOT.left}" x2="${PLOT.right}" y1="${px(axis.toY(tick))}" y2="${px(axis.toY(tick))}"/>`,
			`<text x="${PLOT.left - 8}" y="${px(axis.toY(tick) + 4)}" text-anchor="end">${figure(tick)}</text>`,
		]),
		...xs.map((x) => `<text x="${px(toX(x))}" y="${PLOT.bottom + 20}" text-anchor="middle">${x}</text>`),
		`<text x="${(PLOT.left + PLOT.right) / 2}" y="${HEIGHT - 6}" text-anchor="middle">${toXml(xName)}</text>`,
		...series.flatMap(({ points }, index) => lineOf(points, index, toX, axis.toY)),
		...labelsOf(series, axis.toY),
		"</svg>\n",
	].join("\n");
}

function lineOf(
	points: Series["points"],
	index: number,
	toX: (x: number) => number,
	toY: (y: number) => number,
): readonly string[] {
	const path = points.map(({ x, y }) => `${px(toX(x))},${px(toY(y))}`);
	return [
		`<polyline class="line s${index}" points="${path.join(" ")}"/>`,
		...points.map(
			({ x, y }) =>
				`<circle class="d${index}" cx="${px(toX(x))}" cy="${px(toY(y))}" r="4"><title>${figure(y)}</title></circle>`,
		),
	];
}

/** The name of each line at its end, moved apart where two would touch. */
function labelsOf(series: readonly Series[], toY: (y: number) => number): readonly string[] {
	const labels = series
		.map(({ side, points }, index) => {
			const last = points.at(-1)?.y ?? 0;
			return { text: `${side} ${figure(last)}`, index, y: toY(last) + 4 };
		})
		.sort((a, b) => a.y - b.y);
	let lowest = Number.NEGATIVE_INFINITY;
	return labels.map(({ text, index, y }) => {
		lowest = Math.max(y, lowest + LABEL_GAP);
		return `<text class="d${index}" style="font-weight:600" x="${PLOT.right + 10}" y="${px(lowest)}">${toXml(text)}</text>`;
	});
}

function yAxis(least: number, most: number) {
	if (least > 0 && most / least > LOG_FROM_RATIO) {
		const from = Math.floor(Math.log10(least));
		const to = Math.ceil(Math.log10(most));
		const ticks = Array.from({ length: to - from + 1 }, (_, index) => 10 ** (from + index));
		return { isLog: true, ticks, toY: logScale(10 ** from, 10 ** to, PLOT.bottom, PLOT.top) };
	}
	const step = niceStep(most / TICKS);
	const top = Math.ceil(most / step) * step || 1;
	const ticks = Array.from({ length: Math.round(top / step) + 1 }, (_, index) => index * step);
	return { isLog: false, ticks, toY: (y: number) => PLOT.bottom + ((PLOT.top - PLOT.bottom) * y) / top };
}

/** 1, 2 or 5 times a power of ten, at least `step`. */
function niceStep(step: number): number {
	const power = 10 ** Math.floor(Math.log10(step || 1));
	return power * ([1, 2, 5].find((factor) => factor * power >= step) ?? 10);
}

function logScale(from: number, to: number, start: number, end: number): (value: number) => number {
	const span = Math.log(to / from) || 1;
	return (value) => start + ((end - start) * Math.log(value / from)) / span;
}

function px(value: number): string {
	return value.toFixed(1);
}

function toXml(text: string): string {
	return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}
