import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { namespaces } from '@sandlot/kube';
import { startFakeApiServer } from '@sandlot/kube-testkit';
import type { FakeApiServer } from '@sandlot/kube-testkit';
import { expect, it } from 'vitest';
import { openProcess } from './open-process.ts';
import { processSettings } from './settings.ts';

async function writeKubeconfig(folder: string, server: FakeApiServer): Promise<string> {
  const { ca, server: url } = server.credentials();
  const path = join(folder, 'kubeconfig');
  const authority = Buffer.from(ca ?? '').toString('base64');
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'test',
    contexts: [{ name: 'test', context: { cluster: 'test', user: 'test' } }],
    clusters: [{ name: 'test', cluster: { server: url, 'certificate-authority-data': authority } }],
    users: [{ name: 'test', user: { token: 'test' } }],
  };
  await writeFile(path, JSON.stringify(config));
  return path;
}

it('the client of a process sends no request of a term that is over, although its timer is late', async () => {
  await using open = new AsyncDisposableStack();
  const server = open.use(await startFakeApiServer());
  const folder = await mkdtemp(join(tmpdir(), 'sandlot-process-'));
  open.defer(() => rm(folder, { recursive: true }));
  const settings = processSettings.parse({ KUBECONFIG: await writeKubeconfig(folder, server), LOG_LEVEL: 'error' });
  const { client, termLimits } = await openProcess({ name: 'test', settings, streams: 'none' }, open);
  const key = { name: 'team' };
  const term = new AbortController();
  await client.create(namespaces, { metadata: key }, { signal: term.signal });
  termLimits.add(() => term.abort());
  await expect(client.delete(namespaces, key, { signal: term.signal })).rejects.toThrow();
  expect(server.requests().map(({ verb }) => verb)).toEqual(['create']);
});
