import { getPodName, sandboxes, sandboxSnapshots, sandboxTemplates, sandboxWarmPools } from '@sandlot/api-types';
import type { Sandbox as SandboxObject } from '@sandlot/api-types';
import { createKubeClient, loadCredentials } from '@sandlot/kube';
import type { KubeClient } from '@sandlot/kube';
import { Template, waitForPort } from 'e2b';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { Templates } from '../../support/builds/templates.ts';
import { readPodOf } from '../../support/sdk/objects.ts';
import { findReadyCondition } from '../../support/sandboxes.ts';
import { eventually } from '../../support/team.ts';

const stack = new AsyncDisposableStack();
let templates: Templates;
let client: KubeClient;
let name: string;
let key: { readonly namespace: string; readonly name: string };
beforeAll(async () => {
  templates = stack.use(await Templates.begin('golden'));
  client = createKubeClient({ credentials: await loadCredentials({ kubeconfig: inject('kubeconfigPath') }) });
  stack.defer(() => client.close());
  name = templates.name('server');
  const start =
    'echo started >> ~/starts; cat /proc/sys/kernel/random/uuid > ~/stamp; exec python3 -m http.server 8000';
  const { info } = await templates.build(Template().fromBaseImage().setStartCmd(start, waitForPort(8000)), name);
  const { items } = await client.list(sandboxTemplates);
  const made = items.find(({ metadata }) => metadata.name === info.templateId);
  key = { namespace: made?.metadata.namespace ?? '', name: info.templateId };
});
afterAll(() => stack.disposeAsync());

const isReady = (sandbox: SandboxObject): boolean => findReadyCondition(sandbox)?.status === 'True';

it('a pool of a template that was built starts from a snapshot that was saved behind its ready command', async () => {
  await client.mergePatch(sandboxTemplates, key, { spec: { golden: {} } });
  const spec = { replicas: 0, sandboxTemplateRef: { name: key.name } };
  await client.create(sandboxWarmPools, { metadata: { ...key }, spec });
  stack.defer(() => client.delete(sandboxWarmPools, key).catch(() => undefined));
  const snapshot = await eventually('the golden snapshot is Ready', async () => {
    const { items } = await client.list(sandboxSnapshots, { namespace: key.namespace });
    return items.find(({ metadata: { ownerReferences, labels }, status }) => {
      const isOfTemplate = ownerReferences?.some((owner) => owner.name === key.name) === true;
      return isOfTemplate && labels !== undefined && status?.phase === 'Ready';
    });
  });
  await client.mergePatch(sandboxWarmPools, key, { spec: { replicas: 2 } });
  const members = await eventually('two members are Ready', async () => {
    const { items } = await client.list(sandboxes, { namespace: key.namespace });
    const own = items.filter(({ metadata }) => metadata.ownerReferences?.[0]?.name === key.name).filter(isReady);
    const found = own.filter(({ spec: { restoreFrom } }) => restoreFrom?.snapshotName === snapshot.metadata.name);
    return found.length === 2 ? found : undefined;
  });
  const opened = [await templates.open(name), await templates.open(name)];
  const pods = await Promise.all(opened.map((sandbox) => readPodOf(client, sandbox)));
  expect(pods.map(({ metadata }) => metadata.name).toSorted()).toEqual(members.map(getPodName).toSorted());
  const seen = await Promise.all(
    opened.map(async (sandbox) => ({
      stamp: await sandbox.files.read('/home/user/stamp'),
      starts: await sandbox.files.read('/home/user/starts'),
      page: (await sandbox.commands.run('curl --silent http://127.0.0.1:8000/starts')).stdout,
    })),
  );
  expect(seen.map(({ starts, page }) => [starts, page])).toEqual([
    ['started\n', 'started\n'],
    ['started\n', 'started\n'],
  ]);
  expect(seen[0]?.stamp).toMatch(/^[0-9a-f-]{36}\n$/);
  expect(seen[1]?.stamp).toBe(seen[0]?.stamp);
});
