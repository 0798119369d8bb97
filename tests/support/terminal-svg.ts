/** A terminal's screen as an SVG picture, cell by cell. */
import type { IBufferCell, Terminal } from "@xterm/headless";

const CELL = { width: 8.4, height: 18 } as const;
const MARGIN = 14;
const COLORS = { background: "#16181d", text: "#d4d7dd" } as const;
/** The 16 colours that programs name by number. */
const NAMED = [
	...["#1d2026", "#e06c75", "#98c379", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", "#c8ccd4"],
	...["#5c6370", "#ef7a85", "#a9d58a", "#f0cf90", "#74bdf8", "#d58aea", "#6cc7d3", "#ffffff"],
] as const;

type Style = { readonly fill: string; readonly back: string | null; readonly bold: boolean; readonly italic: boolean };

export function toSvg(terminal: Terminal, title: string): string {
	const { cols, rows, buffer } = terminal;
	const width = Math.ceil(cols * CELL.width + 2 * MARGIN);
	const height = Math.ceil(rows * CELL.height + 2 * MARGIN);
	const shapes: string[] = [];
	for (let row = 0; row < rows; row++) {
		const line = buffer.active.getLine(buffer.active.viewportY + row);
		if (!line) continue;
		let start = 0;
		while (start < cols) {
			const first = line.getCell(start);
			if (!first) break;
			const style = styleOf(first);
			let text = "";
			let end = start;
			for (; end < cols; end++) {
				const cell = line.getCell(end);
				if (!cell || !isSame(styleOf(cell), style)) break;
				if (cell.getWidth() > 0) text += cell.getChars() || " ";
			}
			shapes.push(...draw(text, { column: start, row, length: end - start, style }));
			start = Math.max(end, start + 1);
		}
	}
	return [
		`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">`,
		`<title>${escapeText(title)}</title>`,
		`<rect width="${width}" height="${height}" rx="8" fill="${COLORS.background}"/>`,
		`<g font-family="ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace" font-size="14" xml:space="preserve">`,
		...shapes,
		"</g>",
		"</svg>",
		"",
	].join("\n");
}

function draw(
	text: string,
	place: { readonly column: number; readonly row: number; readonly length: number; readonly style: Style },
): readonly string[] {
	const { column, row, length, style } = place;
	const x = (MARGIN + column * CELL.width).toFixed(1);
	const y = MARGIN + row * CELL.height;
	const shapes: string[] = [];
	const width = (length * CELL.width).toFixed(1);
	if (style.back !== null)
		shapes.push(`<rect x="${x}" y="${y}" width="${width}" height="${CELL.height}" fill="${style.back}"/>`);
	if (text.trim() === "") return shapes;
	const weight = `${style.bold ? ' font-weight="bold"' : ""}${style.italic ? ' font-style="italic"' : ""}`;
	shapes.push(
		`<text x="${x}" y="${y + 13.5}" textLength="${width}" lengthAdjust="spacingAndGlyphs" fill="${style.fill}"${weight}>${escapeText(text)}</text>`,
	);
	return shapes;
}

function styleOf(cell: IBufferCell): Style {
	const fore = colorOf(cell.isFgRGB(), cell.isFgPalette(), cell.getFgColor()) ?? COLORS.text;
	const back = colorOf(cell.isBgRGB(), cell.isBgPalette(), cell.getBgColor());
	const [fill, behind] = cell.isInverse() ? [back ?? COLORS.background, fore] : [fore, back];
	return {
		fill: cell.isDim() ? `${fill}99` : fill,
		back: behind,
		bold: cell.isBold() > 0,
		italic: cell.isItalic() > 0,
	};
}

function isSame(a: Style, b: Style): boolean {
	return a.fill === b.fill && a.back === b.back && a.bold === b.bold && a.italic === b.italic;
}

function colorOf(isRgb: boolean, isPalette: boolean, value: number): string | null {
	if (isRgb) return `#${value.toString(16).padStart(6, "0")}`;
	return isPalette ? paletteColor(value) : null;
}

/** xterm's palette: 16 named colours, a cube of 216, 24 greys. */
function paletteColor(index: number): string {
	const named = NAMED[index];
	if (named !== undefined) return named;
	if (index >= 232) {
		const grey = (8 + (index - 232) * 10).toString(16).padStart(2, "0");
		return `#${grey}${grey}${grey}`;
	}
	const level = (step: number) => (step === 0 ? 0 : 55 + step * 40).toString(16).padStart(2, "0");
	const cube = index - 16;
	return `#${level(Math.floor(cube / 36))}${level(Math.floor(cube / 6) % 6)}${level(cube % 6)}`;
}

function escapeText(text: string): string {
	return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
