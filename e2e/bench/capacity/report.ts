import { formatTable } from '../claims/report.ts';
import { CONTROLLERS } from '../claims/stage.ts';
import { fitLines, predict } from './formula.ts';
import type { Point } from './formula.ts';
import { PROCESSES } from './measure.ts';
import type { Step } from './run.ts';

/** Memory by size, restarts by size, and how well the smaller sizes predict the largest one. */
export function renderReport(steps: readonly Step[]): string {
  return [renderMemory(steps), renderFormula(steps), renderRestarts(steps)].join('\n\n');
}

function renderMemory(steps: readonly Step[]): string {
  const rows = PROCESSES.map((name) => [name, ...steps.map(({ memory }) => memory[name].toFixed(0))]);
  const stored = ['etcd, on its disk', ...steps.map(({ storedMiB }) => storedMiB.toFixed(0))];
  return formatTable(['MiB', ...steps.map(({ sandboxes }) => `${sandboxes}`)], [...rows, stored]);
}

/** The formula comes from all sizes but the largest, which shows how far it is off. */
function renderFormula(steps: readonly Step[]): string {
  const points: readonly Point[] = steps;
  const lines = fitLines(points.slice(0, -1));
  const last = points.at(-1);
  const rows = PROCESSES.map((name) => {
    const line = lines[name];
    const predicted = predict(line, last?.sandboxes ?? 0);
    const measured = last?.memory[name] ?? 0;
    const off = `${((100 * (predicted - measured)) / measured).toFixed(0)} %`;
    return [
      name,
      line.baseMiB.toFixed(0),
      line.perThousandMiB.toFixed(2),
      predicted.toFixed(0),
      measured.toFixed(0),
      off,
    ];
  });
  const size = last?.sandboxes ?? 0;
  return formatTable(['formula', 'base', 'per 1,000', `predicted ${size}`, `measured ${size}`, 'off'], rows);
}

function renderRestarts(steps: readonly Step[]): string {
  const rows = steps.flatMap(({ sandboxes, restarts }) =>
    CONTROLLERS.map((name) => {
      const { firstReadyMs, load } = restarts[name];
      const { lists, cpuSeconds, watchMiB } = load;
      const numbers = [firstReadyMs.toFixed(0), lists.toFixed(0), cpuSeconds.toFixed(2)];
      return [`${name}, ${sandboxes}`, ...numbers, watchMiB.toFixed(1)];
    }),
  );
  const head = ['restart', 'to its first work, ms', 'lists', 'CPU of the API server, s', 'watch MiB'];
  return formatTable(head, rows);
}
