import { readFileSync } from 'node:fs';
import { leases, pods } from '@sandlot/kube';
import type { Pod } from '@sandlot/kube';
import { startFakeApiServer } from '@sandlot/kube-testkit';
import { silentLogger } from '@sandlot/std';
import { expect, it } from 'vitest';
import { expirePods } from './expire-pods.ts';

const read = (path: string): string => readFileSync(new URL(path, import.meta.url), 'utf8');

function pod(name: string, expiresAt?: string): Pod {
  const annotations = expiresAt === undefined ? {} : { 'example.com/expires-at': expiresAt };
  return {
    metadata: { namespace: 'default', name, annotations },
    spec: { containers: [{ name: 'main', image: 'a' }] },
  };
}

it('is the example of docs/kube.md, word for word', () => {
  expect(read('../../../docs/kube.md')).toContain(`\`\`\`ts\n${read('expire-pods.ts')}\`\`\`\n`);
});

it('deletes the pods whose time has come, and gives its lease back when it is stopped', async () => {
  await using server = await startFakeApiServer();
  server.seed(pods, pod('expired', '2001-01-01T00:00:00Z'), pod('young', '2999-01-01T00:00:00Z'), pod('eternal'));
  const stop = new AbortController();
  const running = expirePods({ credentials: server.credentials(), log: silentLogger, signal: stop.signal });
  const names = (): (string | undefined)[] => server.objects(pods).map(({ metadata }) => metadata.name);
  await expect.poll(names).toEqual(['eternal', 'young']);
  stop.abort();
  await running;
  expect(server.objects(leases).map(({ spec }) => spec?.holderIdentity)).toEqual(['']);
  expect(server.writes().filter(({ verb }) => verb === 'delete')).toHaveLength(1);
});
