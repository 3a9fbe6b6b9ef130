import { relative } from 'node:path';
import { readClusterStatus, openCluster } from '@sandlot/local-cluster';
import type { ComponentStatus } from '@sandlot/local-cluster';
import { release } from './install/values.ts';
import { listObservabilityLines } from './observability/look.ts';
import { observability } from './observability/manifests.ts';
import { checkoutRoot } from './paths.ts';

/** Output of `npm run status`, and whether all components are healthy. */
export interface StatusReport {
  readonly text: string;
  readonly healthy: boolean;
}

/** Reports the components of the cluster with their log files, then the pods of the release. */
export async function reportStatus(): Promise<StatusReport> {
  const components = await readClusterStatus({ root: checkoutRoot });
  if (components.length === 0)
    return { text: 'No cluster is up in this checkout. Start one: npm run up\n', healthy: false };
  const healthy = components.every((component) => component.healthy);
  return { text: `${formatComponentTable(components)}\n${await describePods()}`, healthy };
}

/** Formats one line per component. Pure. */
function formatComponentTable(components: readonly ComponentStatus[]): string {
  const rows = components.map(({ name, pid, healthy, uptimeSeconds, rssBytes, logFile }) => [
    name,
    pid === undefined ? 'down' : healthy ? 'healthy' : 'unhealthy',
    pid === undefined ? '' : String(pid),
    uptimeSeconds === undefined ? '' : formatDuration(uptimeSeconds),
    rssBytes === undefined ? '' : `${Math.round(rssBytes / 2 ** 20)} MiB`,
    relative(checkoutRoot, logFile),
  ]);
  return table([['COMPONENT', 'STATE', 'PID', 'UP', 'MEMORY', 'LOG'], ...rows]);
}

async function describePods(): Promise<string> {
  const cluster = await openCluster({ root: checkoutRoot });
  if (cluster === undefined) return 'The API server does not answer. Repair the cluster: npm run up\n';
  if (cluster.mode === 'simulated')
    return 'The nodes are simulated: the controllers above are processes on this machine.\n';
  const readPods = (namespace: string) => cluster.kubectl(['-n', namespace, 'get', 'pods', '-o', 'wide']);
  const { stdout, stderr, code } = await readPods(release.namespace);
  const own = code === 0 && stdout !== '' ? stdout : stderr;
  const { stdout: observers } = await readPods(observability.namespace);
  return observers === '' ? own : `${own}\n${observers}\n${(await listObservabilityLines()).join('\n')}\n`;
}

function formatDuration(seconds: number): string {
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
