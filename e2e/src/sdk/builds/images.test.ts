import { labels, sandboxTemplateBuilds, sandboxTemplates } from '@sandlot/api-types';
import { createKubeClient, loadCredentials } from '@sandlot/kube';
import type { KubeClient } from '@sandlot/kube';
import { Sandbox, Template } from 'e2b';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { listSandlotEvents } from '../../support/events.ts';
import { Templates } from '../../support/builds/templates.ts';
import type { Built } from '../../support/builds/templates.ts';

const PATIENCE = { timeout: 90_000, interval: 500 };

const stack = new AsyncDisposableStack();
let templates: Templates;
let client: KubeClient;
beforeAll(async () => {
  templates = stack.use(await Templates.begin('images'));
  client = createKubeClient({ credentials: await loadCredentials({ kubeconfig: inject('kubeconfigPath') }) });
  stack.defer(() => client.close());
});
afterAll(() => stack.disposeAsync());

const build = (suffix: string): Promise<Built> =>
  templates.build(Template().fromBaseImage().runCmd(`echo ${process.pid} > /home/user/word`), templates.name(suffix));

async function listTemplates({ info }: Built) {
  const { items } = await client.list(sandboxTemplates, { labelSelector: `${labels.templateId}=${info.templateId}` });
  return items;
}

async function findImage(built: Built): Promise<string> {
  const [template] = await listTemplates(built);
  return template?.spec.podTemplate.spec.containers[0]?.image ?? '';
}

/** Asks the registry of the local cluster. */
async function isKept(image: string): Promise<boolean> {
  const [, host = '', repository = '', digest = ''] = /^([^/]+)\/(.+)@(.+)$/.exec(image) ?? [];
  const { status } = await fetch(`http://${host}/v2/${repository}/manifests/${digest}`, { method: 'HEAD' });
  expect([200, 404]).toContain(status);
  return status === 200;
}

/** Deletes template and build past the API, which refuses that while a sandbox uses them. */
async function deleteObjects(built: Built): Promise<void> {
  for (const { metadata } of await listTemplates(built)) {
    const { namespace, name = '' } = metadata;
    await client.delete(sandboxTemplateBuilds, { namespace, name: built.info.buildId });
    await client.delete(sandboxTemplates, { namespace, name });
  }
}

it('a build publishes how it began and ended, without what it ran', async () => {
  const { info } = await build('events');
  const listOwn = async (): Promise<readonly string[]> => {
    const lines = await listSandlotEvents('--since', '1h', '--subject', 'build.*', '-o', 'json');
    return lines.filter((line) => line.includes(info.buildId));
  };
  await expect.poll(async () => (await listOwn()).length, PATIENCE).toBe(2);
  const [started = '', ready = ''] = await listOwn();
  expect(started).toContain('"build.started"');
  expect(ready).toContain('"build.ready"');
  expect(`${started}${ready}`).not.toContain('/home/user/word');
});

it('an image leaves the registry after its template, and stays as long as a paused sandbox needs it', async () => {
  const [used, unused] = [await build('used'), await build('unused')];
  const [kept, gone] = [await findImage(used), await findImage(unused)];
  expect(kept).toMatch(/\/build\.images@sha256:/);
  const sandbox = await templates.open(used.info.name);
  await sandbox.pause();
  await deleteObjects(used);
  expect((await templates.call('DELETE', `/templates/${unused.info.templateId}`)).status).toBe(204);
  await expect.poll(() => isKept(gone), PATIENCE).toBe(false);
  expect(await isKept(kept)).toBe(true);
  const awake = await Sandbox.connect(sandbox.sandboxId, templates.access);
  expect(await awake.files.read('/home/user/word')).toBe(`${process.pid}\n`);
  await awake.kill();
  await expect.poll(() => isKept(kept), PATIENCE).toBe(false);
});
