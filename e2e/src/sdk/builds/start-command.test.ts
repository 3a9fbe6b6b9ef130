import { createKubeClient, loadCredentials } from '@sandlot/kube';
import type { KubeClient } from '@sandlot/kube';
import { Template, waitForPort } from 'e2b';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { killDaemonIn } from '../../support/kill9.ts';
import { Templates } from '../../support/builds/templates.ts';
import { readPodOf } from '../../support/sdk/objects.ts';
import { eventually } from '../../support/team.ts';

const stack = new AsyncDisposableStack();
let templates: Templates;
let client: KubeClient;
let name: string;
beforeAll(async () => {
  templates = stack.use(await Templates.begin('start'));
  client = createKubeClient({ credentials: await loadCredentials({ kubeconfig: inject('kubeconfigPath') }) });
  stack.defer(() => client.close());
  name = templates.name('server');
  await templates.build(
    Template()
      .fromBaseImage()
      .setWorkdir('/home/user/site')
      .runCmd('echo hello > index.html')
      .setEnvs({ WORD: 'of the build' })
      .setStartCmd(
        'echo started >> /home/user/starts; echo "$WORD" > word; echo serving; exec python3 -m http.server 8000',
        waitForPort(8000),
      ),
    name,
  );
});
afterAll(() => stack.disposeAsync());

describe('a template with a start and a ready command', () => {
  it('makes sandboxes in which the process runs already, as the user and in the directory of the template', async () => {
    const sandbox = await templates.open(name);
    expect((await sandbox.commands.run('curl --silent http://127.0.0.1:8000/')).stdout).toBe('hello\n');
    expect((await sandbox.commands.run('ps -o user= -C python3')).stdout.trim()).toBe('user');
    expect(await sandbox.files.read('/home/user/site/word')).toBe('of the build\n');
    expect((await sandbox.commands.run('env')).stdout).not.toMatch(/_COMMAND=|START_ENV|of the build/);
  });

  it('runs it once, also when the daemon is started again', async () => {
    const sandbox = await templates.open(name);
    await killDaemonIn(await readPodOf(client, sandbox));
    const count = 'grep -c started /home/user/starts';
    expect(await eventually('a daemon answers', async () => (await sandbox.commands.run(count)).stdout)).toBe('1\n');
    expect((await sandbox.commands.run('curl --silent http://127.0.0.1:8000/')).stdout).toBe('hello\n');
  });

  it('has its output in the log of the sandbox, as that of a process', async () => {
    const sandbox = await templates.open(name);
    const line = await eventually('the log has it', async () => {
      const answer = await templates.call('GET', `/v2/sandboxes/${sandbox.sandboxId}/logs?search=serving`);
      const { logs } = (await answer.json()) as { logs: readonly { message: string }[] };
      return logs.find(({ message }) => message === 'serving');
    });
    expect(line).toMatchObject({ level: 'info', fields: { logger: 'process', event: 'stdout' } });
  });

  it('has a Pod that a startup probe holds back, and whose container the kubelet has not restarted', async () => {
    const sandbox = await templates.open(name);
    const { spec, status } = await readPodOf(client, sandbox);
    expect(status?.containerStatuses?.[0]?.restartCount).toBe(0);
    expect(spec.containers[0]?.['startupProbe']).toMatchObject({
      exec: { command: ['/.sandlot/bin/sandlot-runtime', 'ready'] },
    });
  });
});
