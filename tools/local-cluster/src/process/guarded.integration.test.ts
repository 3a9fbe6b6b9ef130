import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ensureBinaries } from '../binaries/ensure.ts';
import { startGuarded } from './guarded.ts';
import { identify } from './identity.ts';
import { waitFor } from './wait.ts';

describe('a guarded process', () => {
  let guard: string;
  let folder: string;
  beforeAll(async () => {
    guard = (await ensureBinaries(['guard']))('guard');
    folder = await mkdtemp(join(tmpdir(), 'local-cluster-guard-'));
  });
  afterAll(async () => rm(folder, { recursive: true, force: true }));

  it('dies with its parent even if the parent gets SIGKILL', async () => {
    const script = `
      const { startGuarded } = await import(${JSON.stringify(new URL('./guarded.ts', import.meta.url).href)});
      const [guard, cwd] = process.argv.slice(1);
      const options = { guard, cwd, name: 'sleeper', argv: ['sleep', '600'], logFile: cwd + '/sleeper.log' };
      process.stdout.write(String((await startGuarded(options)).pid));
      setInterval(() => undefined, 60_000);`;
    const argv = ['--input-type=module', '--eval', script, guard, folder];
    const parent = spawn(process.execPath, argv, { stdio: ['ignore', 'pipe', 'inherit'] });
    const output: unknown[] = await once(parent.stdout, 'data');
    const child = Number(String(output[0]));
    expect(await identify(child)).toBeDefined();
    parent.kill('SIGKILL');
    await waitFor(async () => (await identify(child)) === undefined, { what: 'the child to die', timeoutMs: 10_000 });
  });

  it('reports its exit code and the tail of its log if it ends by itself', async () => {
    const logFile = join(folder, 'broken.log');
    const argv = ['sh', '-c', 'echo the reason; exit 7'];
    const broken = await startGuarded({ guard, name: 'broken', argv, cwd: folder, logFile });
    await waitFor(async () => (await identify(broken.pid)) === undefined, { what: 'its end', timeoutMs: 10_000 });
    const failure = waitFor(() => broken.assertRunning().then(() => false), { what: 'the error', timeoutMs: 10_000 });
    await expect(failure).rejects.toThrow(/broken ended with code 7[\s\S]*the reason/);
  });
});
