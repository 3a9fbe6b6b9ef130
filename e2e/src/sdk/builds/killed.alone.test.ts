import { createKubeClient, loadCredentials } from '@sandlot/kube';
import type { KubeClient } from '@sandlot/kube';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { z } from 'zod';
import { Templates } from '../../support/builds/templates.ts';
import { killProcessesOf, replaceRestartedPods, waitUntilRecovered } from '../../support/kill9.ts';
import { startPython } from '../../support/sdk/python-program.ts';
import type { PythonProgram } from '../../support/sdk/python-program.ts';

const COMPONENTS = ['template-builder', 'api'];
const line = z.object({ message: z.string().optional(), end: z.string().optional() });

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

/** Reads what the program prints until a line is what is looked for. */
async function readUntil(program: PythonProgram, isWanted: (said: z.output<typeof line>) => boolean) {
  for (;;) {
    const said = line.parse(await program.nextLine());
    if (isWanted(said)) return said;
  }
}

describe('a build whose processes are killed', () => {
  it('ends ready for the client that polls, and has run each step that it keeps once', async () => {
    const name = templates.name('slow');
    await using program = await startPython('slow_build.py', { TEMPLATE_NAME: name }, 400_000);
    for (const [index, component] of COMPONENTS.entries()) {
      await readUntil(
        program,
        ({ message = '', end }) => end !== undefined || message.includes(`[builder ${index + 1}/3] `),
      );
      await killProcessesOf(client, component);
    }
    expect((await readUntil(program, ({ end }) => end !== undefined)).end).toBe('ready');
    const sandbox = await templates.open(name);
    expect(await sandbox.files.read('/home/user/steps')).toBe(`0 of ${name}\n1 of ${name}\n2 of ${name}\n`);
    for (const component of COMPONENTS) await waitUntilRecovered(client, component);
  });
});
