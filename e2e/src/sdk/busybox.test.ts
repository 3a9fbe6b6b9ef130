import { text } from 'node:stream/consumers';
import {
  AuthenticationError,
  CommandExitError,
  FileNotFoundError,
  FilesystemEventType,
  Sandbox,
  TimeoutError,
} from 'e2b';
import type { FilesystemEvent } from 'e2b';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runKubectlOrFail } from '../support/kubectl.ts';
import { eventually } from '../support/team.ts';
import { ask } from '../support/sdk/http.ts';
import { readAccess, LIFETIME_MS } from '../support/sdk/client.ts';
import type { Access } from '../support/sdk/client.ts';

/** A bare image: no bash, no user but root, no certificates, no Python. */
const POOL = `bare-${process.pid}`;
const manifests = `
apiVersion: extensions.agents.x-k8s.io/v1beta1
kind: SandboxTemplate
metadata: {name: ${POOL}}
spec:
  runtime: {inject: true}
  envVarsInjectionPolicy: Allowed
  podTemplate: {spec: {terminationGracePeriodSeconds: 0, containers: [{name: box, image: busybox, command: [sleep, infinity]}]}}
---
apiVersion: extensions.agents.x-k8s.io/v1beta1
kind: SandboxWarmPool
metadata: {name: ${POOL}}
spec: {replicas: 1, sandboxTemplateRef: {name: ${POOL}}}
`;

const inTenant = ['--namespace', 'tenant-a'];
let options: Access;
let sandbox: Sandbox;
const stack = new AsyncDisposableStack();
beforeAll(async () => {
  options = await readAccess();
  await runKubectlOrFail([...inTenant, 'apply', '-f', '-'], manifests);
  stack.defer(async () => {
    await runKubectlOrFail([...inTenant, 'delete', `sandboxwarmpool/${POOL}`, `sandboxtemplate/${POOL}`]);
  });
  const lifecycle = { onTimeout: 'pause', autoResume: true } as const;
  const envs = { GREETING: 'hello there' };
  sandbox = await Sandbox.create(POOL, { ...options, envs, lifecycle, timeoutMs: LIFETIME_MS });
  stack.adopt(sandbox, async (made) => {
    await made.kill();
  });
});
afterAll(() => stack.disposeAsync());

describe('a sandbox of a bare busybox image', () => {
  it('runs commands with its shell, variables, folders and timeouts', async () => {
    const { stdout, stderr } = await sandbox.commands.run('whoami; pwd; echo $GREETING $ONE; echo bad >&2', {
      envs: { ONE: '1' },
      cwd: '/tmp',
    });
    expect([stdout, stderr]).toEqual(['root\n/tmp\nhello there 1\n', 'bad\n']);
    await expect(sandbox.commands.run('exit 7')).rejects.toMatchObject({ exitCode: 7 });
    await expect(sandbox.commands.run('sleep 60', { timeoutMs: 500 })).rejects.toThrow(TimeoutError);
    await expect(sandbox.commands.run('true', { user: 'user' })).rejects.toThrow(AuthenticationError);
  });

  it('has background commands with stdin, list, connect and kill', async () => {
    const handle = await sandbox.commands.run('cat', { background: true, stdin: true });
    expect((await sandbox.commands.list()).map(({ pid }) => pid)).toContain(handle.pid);
    await handle.sendStdin('fed\n');
    await handle.closeStdin();
    expect(await handle.wait()).toMatchObject({ stdout: 'fed\n', exitCode: 0 });
    const sleeper = await sandbox.commands.run('sleep 1000', { background: true });
    await sleeper.disconnect();
    const again = await sandbox.commands.connect(sleeper.pid);
    expect(await sandbox.commands.kill(sleeper.pid)).toBe(true);
    await expect(again.wait()).rejects.toThrow(CommandExitError);
    expect(await sandbox.commands.kill(sleeper.pid)).toBe(false);
  });

  it('has terminals', async () => {
    const shown = Promise.withResolvers<undefined>();
    let screen = '';
    const terminal = await sandbox.pty.create({
      cols: 90,
      rows: 25,
      onData: (data) => {
        screen += new TextDecoder().decode(data);
        if (screen.includes('40 120')) shown.resolve(undefined);
      },
    });
    await sandbox.pty.resize(terminal.pid, { cols: 120, rows: 40 });
    await sandbox.pty.sendInput(terminal.pid, new TextEncoder().encode('stty size\n'));
    await shown.promise;
    expect(await sandbox.pty.kill(terminal.pid)).toBe(true);
  });

  it('reads, writes, lists, renames, removes and watches files', async () => {
    const { files } = sandbox;
    await files.makeDir('/tmp/kept');
    const events: FilesystemEvent[] = [];
    const watch = await files.watchDir('/tmp/kept', (event) => void events.push(event));
    await files.write('/tmp/kept/a.txt', 'text');
    await eventually('the watch reports the file', async () =>
      events.some(({ name, type }) => name === 'a.txt' && type === FilesystemEventType.CREATE) ? true : undefined,
    );
    await watch.stop();
    expect(await files.read('/tmp/kept/a.txt')).toBe('text');
    expect(await files.getInfo('/tmp/kept/a.txt')).toMatchObject({ size: 4, owner: 'root' });
    await files.rename('/tmp/kept/a.txt', '/tmp/kept/b.txt');
    expect((await files.list('/tmp/kept')).map(({ name }) => name)).toEqual(['b.txt']);
    await files.remove('/tmp/kept');
    await expect(files.read('/tmp/kept/b.txt')).rejects.toThrow(FileNotFoundError);
  });

  it('is reached on a port that listens on loopback only', async () => {
    await sandbox.files.write('/tmp/site/index.html', 'served');
    await sandbox.commands.run('httpd -f -p 127.0.0.1:8000 -h /tmp/site', { background: true, timeoutMs: 0 });
    const page = await eventually('the server answers', async () => {
      const answer = await ask(sandbox.getHost(8000), { path: '/index.html' });
      const body = await text(answer);
      return answer.statusCode === 200 ? body : undefined;
    });
    expect(page).toBe('served');
  });

  it('has metrics, can be paused, wakes for a request, and keeps its variables', async () => {
    const [sample] = await sandbox.getMetrics();
    expect(sample?.memUsed).toBeGreaterThan(0);
    await expect(sandbox.pause()).rejects.toThrow('400: memory cannot be kept: its template does not hibernate');
    expect(await sandbox.pause({ keepMemory: false })).toBe(true);
    expect((await sandbox.commands.run('echo $GREETING')).stdout).toBe('hello there\n');
    expect((await sandbox.getInfo()).state).toBe('running');
  });
});
