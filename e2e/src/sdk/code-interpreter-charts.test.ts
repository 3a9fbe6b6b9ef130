import { Sandbox } from '@e2b/code-interpreter';
import type { Result } from '@e2b/code-interpreter';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readAccess, LIFETIME_MS } from '../support/sdk/client.ts';

let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await Sandbox.create({ ...(await readAccess()), timeoutMs: LIFETIME_MS });
  await sandbox.runCode('import datetime\nimport matplotlib.pyplot as plt\nimport pandas as pd');
}, 180_000);
afterAll(() => sandbox.kill());

/** Runs code that has one result and returns it. */
async function readResult(code: string): Promise<Result> {
  const { results, error } = await sandbox.runCode(code);
  expect(error).toBeUndefined();
  const [result, ...more] = results;
  if (result === undefined || more.length > 0) throw new Error(`${results.length} results of ${code}`);
  return result;
}

/** The chart of a figure; `code` draws into its axes `a`. */
async function readChart(code: string): Promise<unknown> {
  const { png, chart } = await readResult(`f, a = plt.subplots()\n${code}\nplt.show()`);
  expect(png).toMatch(/^iVBORw0K/);
  return chart;
}

const unlabelled = { x_label: null, y_label: null, x_unit: null, y_unit: null };

describe('the chart of a figure', () => {
  it('describes lines with labels, units, ticks and gaps', async () => {
    const code = `a.plot([1, 2, 3], [1, 4, float("nan")], label="squares")
a.set(title="Growth", xlabel="Time (s)", ylabel="Length [m]", xticks=[1, 2, 3])`;
    expect(await readChart(code)).toMatchObject({
      type: 'line',
      title: 'Growth',
      ...{ x_label: 'Time (s)', x_unit: 's', y_label: 'Length [m]', y_unit: 'm' },
      ...{ x_ticks: [1, 2, 3], x_tick_labels: ['1', '2', '3'], x_scale: 'linear', y_scale: 'linear' },
      elements: [{ label: 'squares', points: [[1, 1], [2, 4], [3, null]] }], // prettier-ignore
    });
  });

  it('describes lines over dates and categories', async () => {
    expect(await readChart('a.plot([datetime.date(2026, 1, 1), datetime.date(2026, 1, 3)], [1, 2])')).toMatchObject({
      x_scale: 'datetime',
      elements: [{ points: [['2026-01-01T00:00:00', 1], ['2026-01-03T00:00:00', 2]] }], // prettier-ignore
    });
    expect(await readChart('a.plot(["one", "two"], [1, 2])')).toMatchObject({
      ...{ x_scale: 'categorical', x_ticks: ['one', 'two'], x_tick_labels: ['one', 'two'] },
      elements: [{ points: [['one', 1], ['two', 2]] }], // prettier-ignore
    });
  });

  it('describes scatter plots', async () => {
    expect(await readChart('a.scatter([1, 2], [10, 100], label="dots")\na.set_yscale("log")')).toMatchObject({
      ...{ type: 'scatter', y_scale: 'log', ...unlabelled },
      elements: [{ label: 'dots', points: [[1, 10], [2, 100]] }], // prettier-ignore
    });
  });

  it.each([
    ['upright', 'a.bar(["x", "y"], [3, 4], label="g")'],
    ['horizontal', 'a.barh(["x", "y"], [3, 4], label="g")'],
  ])('describes bars, %s', async (_, code) => {
    const elements = [{ label: 'x', group: 'g', value: 3 }, { label: 'y', group: 'g', value: 4 }]; // prettier-ignore
    expect(await readChart(code)).toEqual({ type: 'bar', title: null, ...unlabelled, elements });
  });

  it('describes bars of a table by group', async () => {
    const code = 'pd.DataFrame({"p": [1, 2], "q": [3, 4]}, index=["x", "y"]).plot.bar(ax=a)';
    const bar = (label: string, group: string, value: number): object => ({ label, group, value });
    const elements = [bar('x', 'p', 1), bar('y', 'p', 2), bar('x', 'q', 3), bar('y', 'q', 4)];
    expect(await readChart(code)).toMatchObject({ type: 'bar', elements });
  });

  it('describes pies', async () => {
    const elements = [{ label: 'q', angle: 90, radius: 1 }, { label: 'w', angle: 270, radius: 1 }]; // prettier-ignore
    expect(await readChart('a.pie([1, 3], labels=["q", "w"])')).toEqual({ type: 'pie', title: null, elements });
  });

  it.each(['', ', orientation="horizontal"', ', patch_artist=True', ', notch=True', ', showmeans=True'])(
    'describes box plots%s',
    async (how) => {
      const box = { label: 'A', min: 1, first_quartile: 2, median: 3, third_quartile: 4, max: 4, outliers: [20] };
      expect(await readChart(`a.boxplot([[1, 2, 3, 4, 20], [5, 5, 5]], tick_labels=["A", "B"]${how})`)).toMatchObject({
        type: 'box_and_whisker',
        elements: [box, { label: 'B', min: 5, median: 5, max: 5, outliers: [] }],
      });
    },
  );

  it('describes several axes, with an unknown chart among them', async () => {
    const code =
      'f, (a, b) = plt.subplots(1, 2)\nf.suptitle("Both")\na.plot([1, 2])\nb.imshow([[1, 2], [3, 4]])\nplt.show()';
    expect((await readResult(code)).chart).toMatchObject({
      ...{ type: 'superchart', title: 'Both' },
      elements: [{ type: 'line' }, { type: 'unknown', elements: [] }],
    });
  });

  it('is undefined when nothing is drawn', async () => {
    expect(await readChart('')).toBeUndefined();
  });
});

describe('a table', () => {
  it('is returned as columns with JSON values', async () => {
    const code = `pd.DataFrame({"day": pd.to_datetime(["2026-01-01", None]), "size": [1, float("inf")], "name": ["a", None]})`;
    const { data, text, html } = await readResult(code);
    expect(data).toEqual({ day: ['2026-01-01T00:00:00', null], size: [1, null], name: ['a', null] });
    expect(text).toContain('2026-01-01');
    expect(html).toContain('<table');
  });

  it('with very many cells is returned as text only', async () => {
    const { data, text } = await readResult('pd.DataFrame({"n": range(100_001)})');
    expect([data, text?.includes('100000')]).toEqual([undefined, true]);
  });
});
