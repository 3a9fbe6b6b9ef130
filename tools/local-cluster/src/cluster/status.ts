import { isRunning, residentBytes } from '../process/identity.ts';
import type { RunRecord } from './component.ts';
import { readRecords } from './component.ts';
import { getClusterPaths } from './paths.ts';
import { isHealthy } from './probe.ts';

/** Current state of one component. */
export interface ComponentStatus {
  name: string;
  /** Undefined if it does not run. */
  pid: number | undefined;
  /** It runs and its probe succeeds. */
  healthy: boolean;
  uptimeSeconds: number | undefined;
  rssBytes: number | undefined;
  logFile: string;
}

/** Returns every component of the checkout's cluster, in start order. Empty if there is no cluster. */
export async function readClusterStatus(options: { root: string }): Promise<readonly ComponentStatus[]> {
  return Promise.all((await readRecords(getClusterPaths(options.root))).map((record) => readStatus(record)));
}

async function readStatus(record: RunRecord): Promise<ComponentStatus> {
  const { name, logFile, pid } = record;
  if (!(await isRunning(record))) {
    return { name, pid: undefined, healthy: false, uptimeSeconds: undefined, rssBytes: undefined, logFile };
  }
  const [healthy, rssBytes] = await Promise.all([isHealthy(record.probe), residentBytes(pid)]);
  const uptimeSeconds = Math.round((Date.now() - record.startedAtMs) / 1000);
  return { name, pid, healthy, uptimeSeconds, rssBytes, logFile };
}
