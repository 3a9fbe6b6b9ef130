import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { systemClock } from '@sandlot/std';

/**
 * The Node flags of the images. By default, the young generation grows to 128 MiB, more than the rest of a controller.
 * With semi-spaces of 8 MiB, Node collects it more often and the process needs half the memory.
 */
export const NODE_FLAGS: readonly string[] = ['--max-semi-space-size=8'];

const STARTED_LIMIT_MS = 30_000;
const STOPPED_LIMIT_MS = 30_000;

/** A service in its own process, run as in its image. */
export interface ServiceProcess extends AsyncDisposable {
  readonly pid: number;
  readonly probePort: number;
  readonly metricsPort: number;
  /** Sends SIGTERM and resolves with the exit code. */
  stop(): Promise<number | null>;
  /** Sends SIGKILL, so that the process cannot clean up. */
  kill(): Promise<void>;
}

/** Starts a `main.ts` with `env` and, unless set there, free ports. Resolves when the process logs that it has started. */
export async function startServiceProcess(
  main: URL,
  env: Readonly<Record<string, string>>,
  flags = NODE_FLAGS,
): Promise<ServiceProcess> {
  const child = spawn(process.execPath, [...flags, fileURLToPath(main)], {
    env: { ...inherited(), PROBE_PORT: '0', METRICS_PORT: '0', ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(child, 'exit');
  const ports = await readPorts(child);
  const end = async (signal: NodeJS.Signals): Promise<number | null> => {
    child.kill(signal);
    const timer = systemClock.setTimeout(() => child.kill('SIGKILL'), STOPPED_LIMIT_MS);
    if (child.exitCode === null && child.signalCode === null) await ended;
    timer.cancel();
    return child.exitCode;
  };
  return {
    ...ports,
    pid: child.pid ?? Number.NaN,
    stop: () => end('SIGTERM'),
    kill: async () => {
      await end('SIGKILL');
    },
    [Symbol.asyncDispose]: async () => {
      await end('SIGKILL');
    },
  };
}

/** Node finds the compiled sources of the service in the folder NODE_COMPILE_CACHE. */
function inherited(): NodeJS.ProcessEnv {
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  return { PATH, ...(NODE_COMPILE_CACHE === undefined ? {} : { NODE_COMPILE_CACHE }) };
}

type Ports = Pick<ServiceProcess, 'probePort' | 'metricsPort'>;

async function readPorts(child: ChildProcess): Promise<Ports> {
  if (child.stdout === null) throw new Error('the process has no output');
  const timer = systemClock.setTimeout(() => child.kill('SIGKILL'), STARTED_LIMIT_MS);
  const seen: string[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    seen.push(line);
    const ports = parsePorts(line);
    if (ports === undefined) continue;
    timer.cancel();
    child.stdout.resume();
    return ports;
  }
  throw new Error(`the process ended before it had started: ${seen.join('\n')}`);
}

function parsePorts(line: string): Ports | undefined {
  const [, probe] = /"probePort":(\d+)/.exec(line) ?? [];
  const [, metrics] = /"metricsPort":(\d+)/.exec(line) ?? [];
  if (probe === undefined || metrics === undefined) return undefined;
  return { probePort: Number(probe), metricsPort: Number(metrics) };
}
