import { init } from 'echarts';
import type { EChartsOption, SeriesOption } from 'echarts';
import { getBucket, listHeatmapCells } from './buckets.ts';
import type { Answer, Series } from './collect.ts';
import { formatValue } from './format.ts';
import type { GrafanaPanel } from '../dashboards/grafana.ts';

export const COLORS = {
  page: '#111217',
  panel: '#181b1f',
  border: '#25282d',
  grid: '#2c3036',
  text: '#9fa3ad',
  strong: '#d8d9df',
  limit: '#f2495c',
  exemplar: '#8ab8ff',
  series: [
    '#73bf69',
    '#f2cc0c',
    '#5794f2',
    '#ff9830',
    '#b877d9',
    '#f2495c',
    '#56d2c9',
    '#fade2a',
    '#c0d8ff',
    '#e0b400',
  ],
} as const;

const FONT = 'DejaVu Sans';

export interface Size {
  readonly width: number;
  readonly height: number;
  /** Epoch seconds of the left and right edges. */
  readonly range: { readonly start: number; readonly end: number };
}

/** Draws lines or stacked areas, with exemplars as points. */
export function drawLines(panel: GrafanaPanel, answers: readonly Answer[], size: Size): string {
  const unit = panel.fieldConfig?.defaults.unit ?? 'short';
  const all = answers.flatMap(({ series }) => series).sort((a, b) => (a.name < b.name ? -1 : 1));
  const stacked = isStacked(panel);
  const series: SeriesOption[] = all.map((each) => ({
    type: 'line',
    name: each.name,
    data: each.points.map(([at, value]) => [at * 1_000, Number.isFinite(value) ? value : stacked ? 0 : null]),
    showSymbol: isLonely(each),
    symbolSize: 3,
    lineStyle: { width: 1.5 },
    ...(stacked ? { stack: 'all', areaStyle: { opacity: 0.45 } } : { areaStyle: { opacity: 0.05 } }),
  }));
  const exemplars = answers.flatMap((answer) => answer.exemplars);
  const top = Math.max(
    0,
    ...all.flatMap(({ points }) => points.map(([, value]) => (Number.isFinite(value) ? value : 0))),
  );
  if (exemplars.length > 0) {
    series.push({
      type: 'scatter',
      name: 'traces',
      symbol: 'diamond',
      symbolSize: 6,
      itemStyle: { color: COLORS.exemplar, opacity: 0.8 },
      data: exemplars
        .filter(({ value }) => value <= top * 1.3)
        .map(({ timestamp, value }) => [timestamp * 1_000, value]),
    });
  }
  return render(size, {
    ...frame(unit),
    color: [...COLORS.series],
    legend: legend(series.map(({ name }) => String(name))),
    xAxis: {
      type: 'time',
      min: size.range.start * 1_000,
      max: size.range.end * 1_000,
      splitNumber: Math.max(2, Math.floor(size.width / 130)),
      ...axis(),
      axisLabel: { ...axis().axisLabel, formatter: '{HH}:{mm}:{ss}', hideOverlap: true },
    },
    series,
  });
}

/** Draws a heatmap of the observations, with exemplars in their buckets. */
export function drawHeatmap(panel: GrafanaPanel, answers: readonly Answer[], size: Size): string {
  const unit = panel.fieldConfig?.defaults.unit ?? 'short';
  const { bounds, times, cells } = listHeatmapCells(answers.flatMap(({ series }) => series));
  const clock = (at: number): string => new Date(at * 1_000).toISOString().slice(11, 19);
  const findPoint = (at: number): number => times.findIndex((time) => time >= at);
  const points = answers
    .flatMap(({ exemplars }) => exemplars)
    .map(({ timestamp, value }) => [findPoint(timestamp), getBucket(value, bounds)])
    .filter((point) => point.every((index) => index >= 0));
  const most = Math.max(1e-9, ...cells.map(([, , value]) => value));
  return render(size, {
    ...frame(unit),
    xAxis: { type: 'category', data: times.map(clock), ...axis(), splitLine: { show: false } },
    yAxis: {
      type: 'category',
      data: bounds.map((bound) => (bound === 'Infinity' ? '+Inf' : formatValue(Number(bound), unit))),
      ...axis(),
    },
    visualMap: {
      show: false,
      min: 0,
      max: most,
      dimension: 2,
      seriesIndex: 0,
      inRange: { color: ['#3d2a1e', '#a3521c', '#ff9830', '#ffe3b3'] },
    },
    series: [
      { type: 'heatmap', data: cells.map((cell) => [...cell]), progressive: 0 },
      { type: 'scatter', symbol: 'diamond', symbolSize: 6, itemStyle: { color: COLORS.exemplar }, data: points },
    ],
  });
}

function render({ width, height }: Size, option: EChartsOption): string {
  const chart = init(null, null, { renderer: 'svg', ssr: true, width, height });
  chart.setOption({ animation: false, textStyle: { fontFamily: FONT }, backgroundColor: 'transparent', ...option });
  const svg = chart.renderToSVGString();
  chart.dispose();
  return svg;
}

function axis() {
  return {
    axisLine: { lineStyle: { color: COLORS.grid } },
    axisTick: { show: false },
    axisLabel: { color: COLORS.text, fontSize: 10.5, fontFamily: FONT },
    splitLine: { lineStyle: { color: COLORS.grid } },
  };
}

function frame(unit: string): EChartsOption {
  const { axisLabel, ...rest } = axis();
  const formatter = (value: number): string => formatValue(value, unit);
  return {
    grid: { left: 66, right: 16, top: 8, bottom: 46 },
    yAxis: { type: 'value', min: 0, splitNumber: 4, ...rest, axisLabel: { ...axisLabel, formatter } },
  };
}

function legend(names: readonly string[]) {
  return {
    data: [...names],
    type: 'plain' as const,
    bottom: 2,
    left: 8,
    itemWidth: 12,
    itemHeight: 4,
    itemGap: 20,
    icon: 'rect',
    textStyle: { color: COLORS.text, fontSize: 10.5, fontFamily: FONT },
  };
}

function isStacked({ fieldConfig }: GrafanaPanel): boolean {
  return JSON.stringify(fieldConfig?.defaults).includes('"stacking":{"mode":"normal"');
}

/** Whether a series needs symbols: a line through so few points would be invisible. */
function isLonely({ points }: Series): boolean {
  return points.filter(([, value]) => Number.isFinite(value)).length < 3;
}
