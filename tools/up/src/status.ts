import { relative } from 'node:path';
import { clusterStatus, openCluster } from '@sandlot/local-cluster';
import type { ComponentStatus } from '@sandlot/local-cluster';
import { release } from './install/values.ts';
import { whereToLook } from './observability/look.ts';
import { observability } from './observability/manifests.ts';
import { checkoutRoot } from './paths.ts';

/** What `npm run status` prints, and whether everything is well. */
export interface StatusReport {
  readonly text: string;
  readonly healthy: boolean;
}

/** The components of the cluster with their logs, then the pods of the release. */
export async function statusReport(): Promise<StatusReport> {
  const components = await clusterStatus({ root: checkoutRoot });
  if (components.length === 0)
    return { text: 'No cluster is up in this checkout. Raise one: npm run up\n', healthy: false };
  const healthy = components.every((component) => component.healthy);
  return { text: `${componentTable(components)}\n${await pods()}`, healthy };
}

/** One line per component; pure. */
function componentTable(components: readonly ComponentStatus[]): string {
  const rows = components.map(({ name, pid, healthy, uptimeSeconds, rssBytes, logFile }) => [
    name,
    pid === undefined ? 'down' : healthy ? 'healthy' : 'unwell',
    pid === undefined ? '' : String(pid),
    uptimeSeconds === undefined ? '' : duration(uptimeSeconds),
    rssBytes === undefined ? '' : `${Math.round(rssBytes / 2 ** 20)} MiB`,
    relative(checkoutRoot, logFile),
  ]);
  return table([['COMPONENT', 'STATE', 'PID', 'UP', 'MEMORY', 'LOG'], ...rows]);
}

async function pods(): Promise<string> {
  const cluster = await openCluster({ root: checkoutRoot });
  if (cluster === undefined) return 'The API server does not answer. Repair: npm run up\n';
  if (cluster.mode === 'simulated')
    return 'The nodes are simulated: the controllers above are processes of this machine.\n';
  const podsOf = (namespace: string) => cluster.kubectl(['-n', namespace, 'get', 'pods', '-o', 'wide']);
  const { stdout, stderr, code } = await podsOf(release.namespace);
  const own = code === 0 && stdout !== '' ? stdout : stderr;
  const { stdout: observers } = await podsOf(observability.namespace);
  return observers === '' ? own : `${own}\n${observers}\n${(await whereToLook()).join('\n')}\n`;
}

function duration(seconds: number): string {
  if (seconds < 120) return `${seconds} s`;
  return seconds < 7200 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3600)} h`;
}

function table(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => (row[column] ?? '').length)));
  return rows
    .map(
      (row) =>
        `${row
          .map((cell, column) => cell.padEnd(widths[column] ?? 0))
          .join('  ')
          .trimEnd()}\n`,
    )
    .join('');
}
