import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, open, readFile, readdir, rename, stat, truncate, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { ComponentError, LocalClusterError } from '../errors.ts';
import { buildChildEnvironment } from '../process/environment.ts';
import type { ProcessIdentity } from '../process/identity.ts';
import { identify, isRunning } from '../process/identity.ts';
import { readLogTail } from '../process/log-tail.ts';
import { waitFor } from '../process/wait.ts';
import type { ClusterPaths } from './paths.ts';
import type { Probe } from './probe.ts';
import { isHealthy } from './probe.ts';

/** A long-running program of the cluster. It outlives the process that started it. */
export interface Component {
  name: string;
  argv: readonly string[];
  cwd: string;
  probe: Probe;
  env?: Readonly<Record<string, string>> | undefined;
  /** Content of the files it reads only at start. A change restarts it. */
  configuration?: string | undefined;
}

/** Content of `run/<name>.json`. */
export interface RunRecord extends ProcessIdentity {
  name: string;
  /** Hash of the command line and the configuration. */
  inputs: string;
  startedAtMs: number;
  logFile: string;
  probe: Probe;
}

const startTimeoutMs = 90_000;
const recoverTimeoutMs = 5_000;
const stopTimeoutMs = 10_000;
const longestLogBytes = 50_000_000;

/**
 * Makes the component run with these inputs and waits until it is healthy. Keeps a running component with the same inputs
 * that is healthy within five seconds, and replaces any other. Throws ComponentError.
 */
export async function ensureComponent(paths: ClusterPaths, component: Component): Promise<'kept' | 'started'> {
  const record = await readRecord(join(paths.run, `${component.name}.json`));
  if (record !== undefined && (await isRunning(record))) {
    if (record.inputs === getInputs(component) && (await isHealthySoon(component))) return 'kept';
    await stopProcess(record);
  }
  await start(paths, component);
  return 'started';
}

/** Reads the records of all components that were started and not removed, in start order. */
export async function readRecords(paths: ClusterPaths): Promise<RunRecord[]> {
  const files = await readdir(paths.run).catch(() => []);
  const records = await Promise.all(
    files.filter((file) => file.endsWith('.json')).map((file) => readRecord(join(paths.run, file))),
  );
  return records.filter((record) => record !== undefined).sort((a, b) => a.startedAtMs - b.startedAtMs);
}

/** Stops a process. If it ignores the first signal for ten seconds, SIGKILL follows. */
export async function stopProcess(identity: ProcessIdentity, first: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<void> {
  for (const signal of [first, 'SIGKILL'] as const) {
    if (!(await isRunning(identity))) return;
    try {
      process.kill(identity.pid, signal);
    } catch {
      return;
    }
    const gone = waitFor(async () => !(await isRunning(identity)), {
      what: 'the process to end',
      timeoutMs: stopTimeoutMs,
    });
    if (await gone.catch(() => false)) return;
  }
  throw new LocalClusterError('TIMEOUT', `process ${identity.pid} does not end, not even after SIGKILL`);
}

async function isHealthySoon(component: Component): Promise<boolean> {
  const healthy = waitFor(() => isHealthy(component.probe), { what: component.name, timeoutMs: recoverTimeoutMs });
  return healthy.catch(() => false);
}

async function start(paths: ClusterPaths, component: Component): Promise<void> {
  const logFile = join(paths.logs, `${component.name}.log`);
  await Promise.all([paths.logs, paths.run, component.cwd].map((folder) => mkdir(folder, { recursive: true })));
  const identity = await launch(component, logFile);
  const record: RunRecord = {
    ...identity,
    name: component.name,
    inputs: getInputs(component),
    startedAtMs: Date.now(),
    logFile,
    probe: component.probe,
  };
  const file = join(paths.run, `${component.name}.json`);
  await writeFile(`${file}.tmp`, JSON.stringify(record));
  await rename(`${file}.tmp`, file);
  await waitUntilHealthy(component, record);
}

async function launch(component: Component, logFile: string): Promise<ProcessIdentity> {
  const size = (await stat(logFile).catch(() => undefined))?.size ?? 0;
  if (size > longestLogBytes) await truncate(logFile);
  const log = await open(logFile, 'a', 0o600);
  try {
    const [program = '', ...args] = component.argv;
    const child = spawn(program, args, {
      cwd: component.cwd,
      env: buildChildEnvironment(component.env),
      stdio: ['ignore', log.fd, log.fd],
      detached: true,
    });
    await once(child, 'spawn');
    child.unref();
    const pid = child.pid ?? 0;
    return (await identify(pid)) ?? { pid, startTime: 'ended at once' };
  } finally {
    await log.close();
  }
}

async function waitUntilHealthy(component: Component, record: RunRecord): Promise<void> {
  const createError = async (problem: string) =>
    new ComponentError({
      component: component.name,
      problem,
      logFile: record.logFile,
      logTail: await readLogTail(record.logFile),
    });
  const check = async () => {
    if (!(await isRunning(record))) throw await createError('ended right after its start');
    return isHealthy(component.probe);
  };
  try {
    await waitFor(check, { what: component.name, timeoutMs: startTimeoutMs });
  } catch (error) {
    if (error instanceof ComponentError) throw error;
    throw await createError(`did not become healthy within ${startTimeoutMs / 1000} s`);
  }
}

function getInputs(component: Component): string {
  const { argv, cwd, env, configuration } = component;
  return createHash('sha256')
    .update(JSON.stringify([argv, cwd, env, configuration]))
    .digest('hex');
}

/** Returns undefined for an unreadable record, whose writer was interrupted. `npm run down` finds such a process anyway. */
async function readRecord(file: string): Promise<RunRecord | undefined> {
  const text = await readFile(file, 'utf8').catch(() => undefined);
  if (text === undefined) return undefined;
  try {
    return parseRecord(JSON.parse(text), basename(file, '.json'));
  } catch {
    return undefined;
  }
}

function parseRecord(value: unknown, name: string): RunRecord | undefined {
  return isRecord(value) && value.name === name ? value : undefined;
}

function isRecord(value: unknown): value is RunRecord {
  if (typeof value !== 'object' || value === null) return false;
  const has = (field: string, type: string) => field in value && typeof Reflect.get(value, field) === type;
  return (
    has('name', 'string') &&
    has('pid', 'number') &&
    has('startTime', 'string') &&
    has('inputs', 'string') &&
    has('startedAtMs', 'number') &&
    has('logFile', 'string') &&
    has('probe', 'object')
  );
}
