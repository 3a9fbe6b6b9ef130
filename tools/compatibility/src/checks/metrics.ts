import { getRow } from '../model.ts';
import { metrics, routerMetrics } from '../tables/agent-sandbox/metrics.ts';
import { readOrFail } from './read.ts';
import type { Read } from './read.ts';

/** Pages with the names of metrics: the first is written from running processes. */
const PAGES = ['docs/metrics.md', 'docs/agent-sandbox-clients.md'];
/** A metric under a name of agent-sandbox. */
const NAME = /`((?:agent_sandbox|sandbox_router)(?:_\w+|es))`/g;

/** Metrics with a name of agent-sandbox that no row has, and rows whose state our pages contradict. */
export function findMetricProblems(read: Read): readonly string[] {
  const found = PAGES.flatMap((page) => [...readOrFail(read, page).matchAll(NAME)].map(([, name = '']) => name));
  return compareMetrics(new Set(found));
}

function compareMetrics(served: ReadonlySet<string>): readonly string[] {
  const rows = [...metrics.items, ...routerMetrics.items].map(getRow);
  const names = new Set(rows.map(({ name }) => name));
  return [
    ...[...served].filter((name) => !names.has(name)).map((name) => `metrics: ${name} is served, and no item`),
    ...rows
      .filter(({ name, state }) => (state === 'no') === served.has(name))
      .map(({ name, state }) => `metrics: the state of ${name} is ${state}, and docs/metrics.md says otherwise`),
  ];
}
