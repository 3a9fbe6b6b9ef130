import { createKubeClient, loadCredentials } from '@sandlot/kube';
import type { KubeClient } from '@sandlot/kube';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { SlowBuild } from '../../support/builds/slow-build.ts';
import { Templates } from '../../support/builds/templates.ts';
import { killProcessesOf, replaceRestartedPods, waitUntilRecovered } from '../../support/kill9.ts';

const COMPONENTS = ['template-builder', 'api'];

const stack = new AsyncDisposableStack();
let templates: Templates;
let client: KubeClient;
beforeAll(async () => {
  client = createKubeClient({ credentials: await loadCredentials({ kubeconfig: inject('kubeconfigPath') }) });
  stack.defer(() => client.close());
  templates = stack.use(await Templates.begin('killed'));
  for (const component of COMPONENTS) await replaceRestartedPods(client, component);
});
afterAll(() => stack.disposeAsync());

describe('a build whose processes are killed', () => {
  it('ends ready for the client that polls, and has run each step that it keeps once', async () => {
    const name = templates.name('slow');
    await using build = await SlowBuild.begin(name);
    for (const [index, component] of COMPONENTS.entries()) {
      await build.waitForStep(index + 1);
      await killProcessesOf(client, component);
    }
    expect(await build.waitForEnd()).toBe('ready');
    const sandbox = await templates.open(name);
    expect(await sandbox.files.read('/home/user/steps')).toBe(build.steps);
    for (const component of COMPONENTS) await waitUntilRecovered(client, component);
  });
});
