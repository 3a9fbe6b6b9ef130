import { readFile, readdir } from 'node:fs/promises';
import { controllerNames } from './images/recipes.ts';
import type { ControllerName } from './images/recipes.ts';
import { release } from './install/values.ts';
import type { Target } from './target.ts';

interface PodListJson {
  readonly items: readonly {
    readonly metadata: { readonly name: string };
    readonly status?: { readonly containerStatuses?: readonly { readonly containerID?: string }[] };
  }[];
}

/** Clock ticks per second in /proc. 100 on every Linux that this runs on. */
const TICKS_PER_SECOND = 100;

/**
 * Measures the milliseconds from the start of each controller's process to its log line `<name> started`. Reads the
 * process start from /proc, because times in Kubernetes are whole seconds. Empty for clusters other than the local node.
 */
export async function measureStartTimes(target: Target): Promise<ReadonlyMap<ControllerName, number>> {
  const times = new Map<ControllerName, number>();
  if (target.kind !== 'node') return times;
  for (const name of controllerNames) {
    const ms = await measureStartTime(target, name).catch(() => undefined);
    if (ms !== undefined) times.set(name, ms);
  }
  return times;
}

async function measureStartTime(target: Target, name: ControllerName): Promise<number | undefined> {
  const selector = `app.kubernetes.io/instance=${release.name},app.kubernetes.io/component=${name}`;
  const where = ['-n', release.namespace];
  const listed = await target.kubectl([...where, 'get', 'pods', '-l', selector, '-o', 'json']);
  const pod = (JSON.parse(listed.stdout) as PodListJson).items[0];
  const container = pod?.status?.containerStatuses?.[0]?.containerID?.split('//')[1];
  if (pod === undefined || container === undefined) return undefined;
  const startedMs = await readProcessStart(container);
  const log = await target.kubectl([...where, 'logs', pod.metadata.name]);
  const readyMs = findStartTime(log.stdout, name);
  return startedMs === undefined || readyMs === undefined ? undefined : readyMs - startedMs;
}

/** Returns the epoch milliseconds of the log line `<name> started`, or undefined. Pure. */
export function findStartTime(log: string, name: string): number | undefined {
  const line = log.split('\n').find((text) => text.includes(`"msg":"${name} started"`));
  if (line === undefined) return undefined;
  const { time } = JSON.parse(line) as { time?: number | string };
  const ms = typeof time === 'string' ? Date.parse(time) : (time ?? Number.NaN);
  return Number.isFinite(ms) ? ms : undefined;
}

/** Returns the epoch milliseconds at which the first process of a container started. */
async function readProcessStart(container: string): Promise<number | undefined> {
  const uptimeSeconds = Number((await readFile('/proc/uptime', 'utf8')).split(' ')[0]);
  // btime in /proc/stat has whole seconds. The uptime gives the time of the boot to 10 ms.
  const bootedMs = Date.now() - uptimeSeconds * 1000;
  for (const pid of (await readdir('/proc')).filter((entry) => /^\d+$/.test(entry))) {
    const cgroups = await readFile(`/proc/${pid}/cgroup`, 'utf8').catch(() => '');
    if (!cgroups.includes(container)) continue;
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
    const ticks = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]);
    if (Number.isFinite(ticks)) return bootedMs + (ticks / TICKS_PER_SECOND) * 1000;
  }
  return undefined;
}
