import { Sandbox } from '@e2b/code-interpreter';
import { createKubeClient, loadCredentials } from '@sandlot/kube';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { readAccess, LIFETIME_MS } from '../support/sdk/client.ts';
import { expectContents, fill } from '../support/sdk/contents.ts';
import type { Contents } from '../support/sdk/contents.ts';
import { offerFullTemplate } from '../support/sdk/full-template.ts';
import { registerPythonTests } from '../support/sdk/python-tests.ts';
import { eventually } from '../support/team.ts';

const TEMPLATE = `full-${process.pid}`;
const lifecycle = { onTimeout: 'pause', autoResume: true } as const;

let sandbox: Sandbox;
let before: Contents;
const stack = new AsyncDisposableStack();
beforeAll(async () => {
  const credentials = await loadCredentials({ kubeconfig: inject('kubeconfigPath') });
  const client = stack.adopt(createKubeClient({ credentials }), (each) => each.close());
  stack.use(await offerFullTemplate(client, TEMPLATE));
  sandbox = await Sandbox.create(TEMPLATE, { ...(await readAccess()), timeoutMs: LIFETIME_MS, lifecycle });
  stack.defer(async () => {
    await sandbox.kill();
  });
  before = await fill(sandbox);
});
afterAll(() => stack.disposeAsync());

const getState = async (): Promise<string> => (await sandbox.getInfo()).state;

describe('a sandbox with processes, memory, open files, a listener, files, a disk and a kernel', () => {
  it('has all of it after a pause and a connect', async () => {
    expect(await sandbox.pause()).toBe(true);
    expect(await getState()).toBe('paused');
    await sandbox.connect();
    await expectContents(sandbox, before);
  });

  it('has all of it after its timeout, when a request wakes it', async () => {
    await sandbox.setTimeout(1_000);
    await eventually('the sandbox is paused', async () => ((await getState()) === 'paused' ? true : undefined));
    await expectContents(sandbox, before);
    expect(await getState()).toBe('running');
  });
});

describe('the same with the client for Python', () =>
  registerPythonTests('pauses', async () => ({ SANDLOT_TEMPLATE: TEMPLATE })));
