import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { ensureBinaries } from '@sandlot/local-cluster';
import { pods } from '@sandlot/kube';
import { Sandbox } from 'e2b';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { createTeam, eventually } from '../support/team.ts';
import type { Team } from '../support/team.ts';
import { startPython } from '../support/sdk/python-program.ts';

const DAEMON_PORT = 49_983;

let team: Team;
const stack = new AsyncDisposableStack();

/** A daemon without an installation. It has no token, so it accepts every request. */
const manifest = (image: string): string => `
apiVersion: v1
kind: Pod
metadata: {name: debug}
spec:
  terminationGracePeriodSeconds: 0
  volumes: [{name: bin, emptyDir: {}}]
  initContainers: [{name: install, image: "${image}", args: [install, /bin-of-ours], volumeMounts: [{name: bin, mountPath: /bin-of-ours}]}]
  containers: [{name: box, image: busybox, command: [/bin-of-ours/sandlot-runtime, serve], env: [{name: SANDLOT_RUNTIME_UNPROTECTED, value: "true"}], volumeMounts: [{name: bin, mountPath: /bin-of-ours}]}]
`;

beforeAll(async () => {
  team = stack.use(await createTeam('debug'));
  const { items } = await team.client.list(pods, { namespace: 'tenant-a' });
  const images = items
    .flatMap(({ spec }) => spec.volumes ?? [])
    .map(({ image }) => (image as { reference?: string } | undefined)?.reference ?? '');
  await team.apply(manifest(images.find((image) => image.includes('/runtime:')) ?? 'no image of the daemon'));
  await eventually('the daemon runs', async () => {
    const { status } = await team.client.get(pods, { namespace: team.namespace, name: 'debug' });
    return status?.phase === 'Running' ? true : undefined;
  });
  const kube = (await ensureBinaries(['kube']))('kube');
  const where = ['--kubeconfig', inject('kubeconfigPath'), '--namespace', team.namespace];
  const forward = spawn(kube, ['kubectl', ...where, 'port-forward', 'pod/debug', String(DAEMON_PORT)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  stack.defer(async () => {
    const gone = once(forward, 'close');
    forward.kill();
    await gone;
  });
  await createInterface({ input: forward.stdout })[Symbol.asyncIterator]().next();
});
afterAll(() => stack.disposeAsync());

it('a client in debug mode works with a local daemon and without an API', async () => {
  const sandbox = await Sandbox.create({ debug: true });
  expect(sandbox.sandboxId).toBe('debug_sandbox_id');
  expect((await sandbox.commands.run('echo $((6 * 7))')).stdout).toBe('42\n');
  await sandbox.files.write('/tmp/note.txt', 'debugged', { metadata: { by: 'ana' } });
  expect(await sandbox.files.read('/tmp/note.txt')).toBe('debugged');
  expect((await sandbox.files.list('/tmp')).map(({ name }) => name)).toContain('note.txt');
  const names: string[] = [];
  const watch = await sandbox.files.watchDir('/tmp', ({ name }) => void names.push(name), { includeEntry: true });
  await sandbox.commands.run('touch /tmp/touched');
  await eventually('the watch reports the file', async () => (names.includes('touched') ? true : undefined));
  await watch.stop();
  expect(await sandbox.isRunning()).toBe(true);
  await sandbox.kill();
  expect(await sandbox.isRunning()).toBe(true);
});

it('the Python client has the same mode with E2B_DEBUG', async () => {
  await using python = await startPython('debug.py', { E2B_DEBUG: 'true', E2B_SANDBOX_URL: '' });
  expect(await python.nextLine()).toEqual({ id: 'debug_sandbox_id', stdout: '42\n', file: 'debugged' });
});
