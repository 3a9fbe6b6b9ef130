import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const STARTED_LIMIT_MS = 30_000;
const STOPPED_LIMIT_MS = 30_000;

/** The service as its own process, as the image runs it. For tests. */
export interface ControllerProcess {
  readonly probePort: number;
  readonly metricsPort: number;
  /** SIGTERM; resolves to the exit code once it has ended. */
  stop(): Promise<number | null>;
  /** SIGKILL: no goodbye. */
  kill(): Promise<void>;
}

/** Starts `main.ts` with `env` on top of free ports; resolves when it says that it has started. */
export async function startProcess(env: Readonly<Record<string, string>>): Promise<ControllerProcess> {
  const main = fileURLToPath(new URL('main.ts', import.meta.url));
  const child = spawn(process.execPath, [main], {
    env: { PATH: process.env['PATH'], PROBE_PORT: '0', METRICS_PORT: '0', ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ports = await startedLine(child);
  const ended = once(child, 'exit');
  return {
    ...ports,
    stop: async () => {
      child.kill('SIGTERM');
      const timer = setTimeout(() => child.kill('SIGKILL'), STOPPED_LIMIT_MS);
      await ended;
      clearTimeout(timer);
      return child.exitCode;
    },
    kill: async () => {
      child.kill('SIGKILL');
      await ended;
    },
  };
}

async function startedLine(child: ChildProcess): Promise<{ probePort: number; metricsPort: number }> {
  if (child.stdout === null) throw new Error('the process has no output');
  const lines = createInterface({ input: child.stdout });
  const timer = setTimeout(() => child.kill('SIGKILL'), STARTED_LIMIT_MS);
  const seen: string[] = [];
  for await (const line of lines) {
    seen.push(line);
    const ports = portsIn(line);
    if (ports === undefined) continue;
    clearTimeout(timer);
    child.stdout.resume();
    return ports;
  }
  throw new Error(`the process ended before it had started: ${seen.join('\n')}`);
}

function portsIn(line: string): { probePort: number; metricsPort: number } | undefined {
  const [, probe] = /"probePort":(\d+)/.exec(line) ?? [];
  const [, metrics] = /"metricsPort":(\d+)/.exec(line) ?? [];
  return probe === undefined || metrics === undefined
    ? undefined
    : { probePort: Number(probe), metricsPort: Number(metrics) };
}
