import { expect, it } from 'vitest';
import { buildRecord } from '../support/record.ts';
import { PROCESSES } from './measure.ts';
import { renderReport } from './report.ts';
import type { Step } from './run.ts';
import { STARTED } from './starts.ts';
import type { Start } from './starts.ts';

const SIZES = [5_000, 10_000, 20_000, 30_000];

/** All values are on lines. Of three starts the one in the middle is: the others are far below and above. */
function buildStep(sandboxes: number): Step {
  const thousands = sandboxes / 1_000;
  const starts = [0, 1, 9].map((factor): Start => {
    const load = { cpuSeconds: factor * (0.2 + 0.15 * thousands), lists: 0, watchMiB: factor * (1 + 2.5 * thousands) };
    return { firstWorkMs: factor * (250 + 150 * thousands), load };
  });
  return {
    sandboxes,
    memory: buildRecord(PROCESSES, (name) => (name === 'kube-apiserver' ? 400 + 50 * thousands : 120 + 2 * thousands)),
    storedMiB: 10 + 12 * thousands,
    starts: buildRecord(STARTED, () => starts),
  };
}

/** The rows of the report that begin with the name. */
const listRows = (report: string, name: string): readonly string[] =>
  report.split('\n').filter((line) => line.startsWith(`| ${name} |`));

const steps = SIZES.map(buildStep);
const report = renderReport(steps);

it('has a table for each unit as the page has it, with base, slope, sizes and how far the line is off', () => {
  expect(report).toContain(
    [
      '## Memory\n',
      '| MiB | base | slope | at 5,000 | 10,000 | 20,000 | 30,000 | off |',
      '| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |',
      '| claim-controller | 120 | 2.00 | 130 | 140 | 160 | 180 | 0 % |\n',
    ].join('\n'),
  );
  expect(listRows(report, 'kube-apiserver, live heap')).toContain(
    '| kube-apiserver, live heap | 400 | 50.00 | 650 | 900 | 1,400 | 1,900 | 0 % |',
  );
});

it('shows the median of the starts, of each quantity', () => {
  expect(listRows(report, 'sandbox-controller')).toEqual([
    '| sandbox-controller | 120 | 2.00 | 130 | 140 | 160 | 180 | 0 % |',
    '| sandbox-controller | 0.25 | 0.150 | 1.00 | 1.75 | 3.25 | 4.75 | 0 % |',
    '| sandbox-controller | 1.0 | 2.50 | 13.5 | 26.0 | 51.0 | 76.0 | 0 % |',
    '| sandbox-controller | 0.20 | 0.150 | 0.95 | 1.70 | 3.20 | 4.70 | 0 % |',
    '| sandbox-controller | 520 MiB |',
  ]);
  for (const name of ['sandbox-controller', 'api', 'gateway'])
    expect(listRows(report, `start of the ${name}`)).toEqual([`| start of the ${name} | 30 s, 501 MiB, 30 s of CPU |`]);
});

it.each(['etcd', 'NATS', 'Redis', 'snapshot-controller', 'key-keeper'])('shows the memory of %s', (name) => {
  expect(listRows(report, name)[0]).toBe(`| ${name} | 120 | 2.00 | 130 | 140 | 160 | 180 | 0 % |`);
});

it('shows the database of etcd', () => {
  expect(report).toContain('| etcd | 10 | 12.00 | 70 | 130 | 250 | 370 | 0 % |');
  expect(listRows(report, 'disk of etcd')).toEqual(['| disk of etcd | 2,410 MiB |']);
});

it('plans only with what grows', () => {
  expect(listRows(report, 'gateway')).toContain('| gateway | 520 MiB |');
  expect(listRows(report, 'NATS')).toHaveLength(1);
});

it('names what the line predicts worse than promised', () => {
  expect(report).toContain('Off by more than 20 %: none.');
  const last = buildStep(30_000);
  const worse = { ...last, storedMiB: 250, memory: { ...last.memory, api: 165 } };
  const text = renderReport([...steps.slice(0, -1), worse]);
  expect(text).toContain('| api | 120 | 2.00 | 130 | 140 | 160 | 165 | 9 % |');
  expect(text).toContain('Off by more than 20 %: etcd, MiB on its disk (48 %).');
});

it('counts the lists of all starts', () => {
  expect(report).toContain('Lists during all starts: 0.');
  const [first] = steps;
  const load = { cpuSeconds: 1, lists: 2, watchMiB: 1 };
  const starts = buildRecord(STARTED, () => [{ firstWorkMs: 1, load }]);
  expect(renderReport([...(first === undefined ? [] : [{ ...first, starts }]), ...steps.slice(1)])).toContain(
    'Lists during all starts: 10.',
  );
});
