// The API as a process of its own, like in its image, and the memory that it uses.
import { readFile } from 'node:fs/promises';
import { findFreePort } from '@sandlot/local-cluster';
import { startServiceProcess } from '@sandlot/service-testkit';
import type { ServiceProcess } from '@sandlot/service-testkit';
import { apiEnvironment } from './stack.ts';
import type { Stack } from './stack.ts';

const MAIN = new URL('../src/main.ts', import.meta.url);
const PROBE_EVERY_MS = 50;

export interface ApiProcess extends AsyncDisposable {
  readonly url: string;
  readonly adminUrl: string;
  readonly port: number;
  readonly process: ServiceProcess;
  /** Resident memory, bytes. Rejects once the process has ended. */
  memory(): Promise<number>;
}

/** Starts a replica; resolves when its informers have synced. */
export async function startApiProcess(
  stack: Pick<Stack, 'plane' | 'nats'>,
  env: Readonly<Record<string, string>> = {},
): Promise<ApiProcess> {
  const [port, adminPort] = [await findFreePort(), await findFreePort()];
  const child = await startServiceProcess(MAIN, {
    ...apiEnvironment,
    KUBECONFIG: stack.plane.kubeconfigPath,
    NATS_URL: stack.nats.url,
    LOG_LEVEL: 'info',
    ...env,
    API_PORT: String(port),
    ADMIN_PORT: String(adminPort),
  });
  await waitUntilReady(child.probePort);
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    adminUrl: `http://127.0.0.1:${adminPort}`,
    process: child,
    memory: () => residentBytes(child.pid),
    [Symbol.asyncDispose]: () => child[Symbol.asyncDispose](),
  };
}

async function waitUntilReady(probePort: number): Promise<void> {
  for (;;) {
    const { ok } = await fetch(`http://127.0.0.1:${probePort}/readyz`);
    if (ok) return;
    await new Promise((resolve) => setTimeout(resolve, PROBE_EVERY_MS));
  }
}

async function residentBytes(pid: number): Promise<number> {
  const [, kibibytes] = /^VmRSS:\s+(\d+) kB$/m.exec(await readFile(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kibibytes) * 1_024;
}
