import { Resvg } from '@resvg/resvg-js';
import type { Answer, Collected } from './collect.ts';
import { formatValue } from './format.ts';
import type { GrafanaDashboard, GrafanaPanel } from '../dashboards/grafana.ts';
import { COLORS, drawHeatmap, drawLines } from './plots.ts';
import type { Size } from './plots.ts';

/** Size of a column and of a row of Grafana's grid, in pixels. */
const COLUMN = 68;
const ROW = 30;
const GAP = 6;
const PADDING = 10;
const HEADER = 64;
const COLUMNS = 24;

export interface Drawing {
  readonly dashboard: GrafanaDashboard;
  readonly collected: readonly Collected[];
  readonly range: Size['range'];
  /** Text under the title. */
  readonly caption: string;
}

/** Draws the dashboard with its data as a PNG, in Grafana's layout. */
export function drawDashboard({ dashboard, collected, range, caption }: Drawing): Uint8Array {
  const answersOf = new Map(collected.map(({ panel, answers }) => [panel.id, answers]));
  const bottom = Math.max(...dashboard.panels.map(({ gridPos: { y, h } }) => y + h));
  const [width, height] = [COLUMNS * COLUMN + 2 * PADDING, bottom * ROW + HEADER + PADDING];
  const boxes = dashboard.panels.map((panel) => drawBox(panel, answersOf.get(panel.id) ?? [], range));
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">
    <rect width="100%" height="100%" fill="${COLORS.page}"/>
    ${text(PADDING + 4, 30, { size: 21, color: COLORS.strong, content: dashboard.title })}
    ${text(PADDING + 4, 51, { size: 13, color: COLORS.text, content: caption })}
    ${boxes.join('\n')}
  </svg>`;
  const font = { loadSystemFonts: true, defaultFontFamily: 'DejaVu Sans' };
  return new Resvg(svg, { font, background: COLORS.page }).render().asPng();
}

function drawBox(panel: GrafanaPanel, answers: readonly Answer[], range: Size['range']): string {
  const { x, y, w, h } = panel.gridPos;
  const [left, top] = [PADDING + x * COLUMN + GAP / 2, HEADER + y * ROW + GAP / 2];
  const [width, height] = [w * COLUMN - GAP, h * ROW - GAP];
  if (panel.type === 'row') {
    return text(left + 2, top + 17, { size: 14, color: COLORS.strong, content: `▾ ${panel.title}` });
  }
  const size = { width, height: height - 30, range };
  return `<g transform="translate(${left} ${top})">
    <rect width="${width}" height="${height}" rx="3" fill="${COLORS.panel}" stroke="${COLORS.border}"/>
    ${text(10, 21, { size: 13, color: COLORS.strong, content: panel.title })}
    <g transform="translate(0 30)">${drawContent(panel, answers, size)}</g>
  </g>`;
}

function drawContent(panel: GrafanaPanel, answers: readonly Answer[], size: Size): string {
  switch (panel.type) {
    case 'stat':
      return drawStat(panel, answers, size);
    case 'heatmap':
      return drawHeatmap(panel, answers, size);
    default:
      return drawLines(panel, answers, size);
  }
}

/** Draws the last number of the first series. */
function drawStat(panel: GrafanaPanel, answers: readonly Answer[], { width, height }: Size): string {
  const points = answers[0]?.series[0]?.points ?? [];
  const last = points.findLast(([, value]) => Number.isFinite(value))?.[1] ?? Number.NaN;
  const content = formatValue(last, panel.fieldConfig?.defaults.unit ?? 'short');
  const color = getStatColor(panel, last);
  return text(width / 2, height / 2 + 10, {
    size: 34,
    color,
    content,
    anchor: 'middle',
  });
}

/** Returns the colour by the panel's thresholds. */
function getStatColor({ fieldConfig }: GrafanaPanel, value: number): string {
  const limit = fieldConfig?.defaults.thresholds?.steps[1]?.value ?? undefined;
  if (limit === undefined) return COLORS.strong;
  return value >= limit ? COLORS.series[0] : COLORS.limit;
}

interface Text {
  readonly size: number;
  readonly color: string;
  readonly content: string;
  readonly anchor?: 'start' | 'middle';
}

function text(x: number, y: number, { size, color, content, anchor = 'start' }: Text): string {
  const escaped = content.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
  return `<text x="${x}" y="${y}" font-family="DejaVu Sans" font-size="${size}" fill="${color}" text-anchor="${anchor}">${escaped}</text>`;
}
