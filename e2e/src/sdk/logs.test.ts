import { sandboxTemplates } from '@sandlot/api-types';
import { createKubeClient, loadCredentials } from '@sandlot/kube';
import { Sandbox } from 'e2b';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { runKubectlOrFail } from '../support/kubectl.ts';
import { eventually } from '../support/team.ts';
import { LIFETIME_MS, openSandbox, readAccess } from '../support/sdk/client.ts';
import type { Access } from '../support/sdk/client.ts';
import { TENANT } from '../support/sdk/objects.ts';

let access: Access;
let sandbox: Sandbox & AsyncDisposable;
beforeAll(async () => {
  access = await readAccess();
  sandbox = await openSandbox();
});
afterAll(() => sandbox[Symbol.asyncDispose]());

interface Logs {
  readonly logs: readonly { readonly timestamp: string; readonly line: string }[];
}

async function read(path: string, key = access.apiKey): Promise<{ readonly status: number; readonly body: unknown }> {
  const response = await fetch(`${access.apiUrl}${path}`, { headers: { 'X-API-KEY': key } });
  return { status: response.status, body: await response.json() };
}

/** Has the container print a line, as the program of its entry point would. */
const print = (text: string): Promise<unknown> =>
  sandbox.commands.run(`printf '%s\\n' '${text}' > /proc/1/fd/1`, { user: 'root' });

/** Follows the log as `e2b sandbox logs -f` does, from a time on, until it has the message. */
async function follow(wanted: string): Promise<readonly string[]> {
  const seen: string[] = [];
  let start = '';
  await eventually(`the log has ${wanted}`, async () => {
    const { body } = await read(`/sandboxes/${sandbox.sandboxId}/logs${start}`);
    for (const { timestamp, line } of (body as Logs).logs) {
      const { level, message } = JSON.parse(line) as { readonly level: string; readonly message: string };
      expect(level.toUpperCase()).toBe('INFO');
      seen.push(message);
      start = `?start=${Date.parse(timestamp) + 1}`;
    }
    return seen.includes(wanted) ? true : undefined;
  });
  return seen;
}

it('the log of a sandbox has what its container prints, in order, once, for a client that follows it', async () => {
  await print('first');
  await print('{"level":7}');
  await print('last');
  const seen = (await follow('last')).filter((message) => ['first', '{"level":7}', 'last'].includes(message));
  expect(seen).toEqual(['first', '{"level":7}', 'last']);
  const newest = await read(`/v2/sandboxes/${sandbox.sandboxId}/logs?search=level&limit=1`);
  expect(newest.body).toMatchObject({ logs: [{ message: '{"level":7}' }] });
});

it('the log of a sandbox has what its processes do and print, and not their variables', async () => {
  const script = 'echo out-of-a-process; echo err-of-a-process >&2; exit 3';
  await expect(sandbox.commands.run(script, { envs: { HIDDEN: 'a-value' } })).rejects.toThrow('exit');
  const path = `/v2/sandboxes/${sandbox.sandboxId}/logs?search=of-a-process`;
  const { body } = await read(path);
  const found = (body as { logs: readonly { level: string; message: string; fields: object }[] }).logs;
  expect(found).toContainEqual(expect.objectContaining({ level: 'info', message: 'out-of-a-process' }));
  expect(found).toContainEqual(expect.objectContaining({ level: 'error', message: 'err-of-a-process' }));
  for (const { fields } of found) expect(fields).toMatchObject({ logger: 'process' });
  const ends = await read(`/v2/sandboxes/${sandbox.sandboxId}/logs?level=warn&search=exit`);
  expect(ends.body).toMatchObject({ logs: [{ message: 'ended: exit status 3' }] });
  expect(JSON.stringify((await read(`/sandboxes/${sandbox.sandboxId}/logs`)).body)).not.toContain('a-value');
});

it('the log of a sandbox has what its processes print also where the daemon writes it into that of the container, once', async () => {
  await using stack = new AsyncDisposableStack();
  const client = createKubeClient({ credentials: await loadCredentials({ kubeconfig: inject('kubeconfigPath') }) });
  stack.defer(() => client.close());
  const template = `records-${process.pid}`;
  const container =
    '{name: box, image: busybox, command: [sleep, infinity], env: [{name: SANDLOT_RECORDS, value: log}]}';
  stack.defer(() => client.delete(sandboxTemplates, { namespace: TENANT, name: template }));
  await runKubectlOrFail(
    ['--namespace', TENANT, 'apply', '-f', '-'],
    `
apiVersion: extensions.agents.x-k8s.io/v1beta1
kind: SandboxTemplate
metadata: {name: ${template}}
spec:
  runtime: {inject: true}
  podTemplate: {spec: {terminationGracePeriodSeconds: 0, containers: [${container}]}}
`,
  );
  const opened = await Sandbox.create(template, { ...access, timeoutMs: LIFETIME_MS });
  stack.defer(async () => {
    await opened.kill();
  });
  await opened.commands.run('echo kept-in-the-log');
  const path = `/v2/sandboxes/${opened.sandboxId}/logs?search=kept-in-the-log&direction=forward`;
  const found = await eventually('the log has it', async () => {
    const { logs } = (await read(path)).body as { logs: readonly { message: string }[] };
    return logs.length >= 2 ? logs : undefined;
  });
  expect(found).toMatchObject([
    { message: expect.stringContaining('started: ') as string, fields: { logger: 'process', event: 'start' } },
    { message: 'kept-in-the-log', level: 'info', fields: { logger: 'process', event: 'stdout' } },
  ]);
  expect(found).toHaveLength(2);
});

it('the log of a sandbox is not for another tenant, and is empty once the sandbox has ended', async () => {
  const foreign = await readAccess('E2B_API_KEY_2');
  await using other = await openSandbox();
  await using theirs = await openSandbox(foreign);
  const [path, theirPath] = [other, theirs].map(({ sandboxId }) => `/sandboxes/${sandboxId}/logs`) as [string, string];
  expect([(await read(path)).status, (await read(theirPath, foreign.apiKey)).status]).toEqual([200, 200]);
  expect([(await read(path, foreign.apiKey)).status, (await read(theirPath)).status]).toEqual([404, 404]);
  await other.kill();
  expect(await read(path)).toMatchObject({ status: 200, body: { logs: [] } });
  expect((await read(path, foreign.apiKey)).status).toBe(404);
});
