import { describe, expect, it } from 'vitest';
import { getBucket, listHeatmapCells } from './pictures/buckets.ts';
import { interpolate } from './pictures/collect.ts';
import { formatValue } from './pictures/format.ts';
import { listMetricRows, formatMetricsPage } from './reference.ts';
import { listSelectors } from './selectors.ts';

describe('listMetricRows', () => {
  const page = `# HELP sandlot_x_seconds Time of x.
# TYPE sandlot_x_seconds histogram
sandlot_x_seconds_bucket{le="1",phase="a"} 1
sandlot_x_seconds_count{phase="a"} 1
# HELP process_cpu_seconds_total CPU.
# TYPE process_cpu_seconds_total counter
process_cpu_seconds_total 1
`;
  it('returns a row for each of our metrics, with its labels and the processes that expose it', () => {
    const rows = listMetricRows({ 'b-controller': page, 'a-controller': page });
    expect(rows).toEqual([
      {
        name: 'sandlot_x_seconds',
        type: 'histogram',
        help: 'Time of x.',
        labels: ['phase'],
        by: ['a-controller', 'b-controller'],
      },
    ]);
    expect(formatMetricsPage(rows)).toContain('| `sandlot_x_seconds` | histogram | `phase` | Time of x. | a, b |');
  });
});

describe('listSelectors', () => {
  it.each([
    ['sum by (pool) (sandlot_a{x="y"}) > 0', ['sandlot_a{x="y"}']],
    ['rate(sandlot:slow:ratio_rate5m{a="sandlot_no"}[5m])', ['sandlot:slow:ratio_rate5m{a="sandlot_no"}']],
    ['absent(sandlot_a{c="1"}) or agent_sandbox_b', ['sandlot_a{c="1"}', 'agent_sandbox_b']],
  ])('finds in %s the selectors %j', (expr, selectors) => {
    expect(listSelectors(expr)).toEqual(selectors);
  });
});

describe('interpolate', () => {
  it('selects every value of each variable, and rates over ten scrapes', () => {
    const expr = 'rate(x{job=~"$job",le="0.25"}[$__rate_interval])';
    expect(interpolate(expr, { scrapeSeconds: 0.5 })).toBe('rate(x{job=~".+",le="0.25"}[5s])');
  });
});

describe('listHeatmapCells', () => {
  const series = (le: string, value: number) => ({ name: le, labels: { le }, points: [[10, value] as const] });

  it('turns cumulative buckets in any order into counts between two bounds', () => {
    const { bounds, cells } = listHeatmapCells([series('+Inf', 6), series('0.1', 1), series('0.5', 4)]);
    expect(bounds).toEqual(['0.1', '0.5', 'Infinity']);
    expect(cells).toEqual([
      [0, 0, 1],
      [0, 1, 3],
      [0, 2, 2],
    ]);
    expect([0.1, 0.2, 9].map((value) => getBucket(value, bounds))).toEqual([0, 1, 2]);
  });
});

describe('formatValue', () => {
  it.each([
    [0.0125, 's', '12.5 ms'],
    [2.5, 's', '2.5 s'],
    [600, 's', '10 min'],
    [250, 'ms', '250 ms'],
    [0.995, 'percentunit', '99.5 %'],
    [2 ** 31, 'bytes', '2 GiB'],
    [12_345, 'ops', '12.3k/s'],
    [0, 's', '0'],
    [Number.NaN, 's', '-'],
  ])('formats %d in %s as %s', (value, unit, text) => {
    expect(formatValue(value, unit)).toBe(text);
  });
});
