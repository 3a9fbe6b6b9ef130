import { readFile } from 'node:fs/promises';
import { startControlPlane } from '@sandlot/local-cluster';
import { expect, it } from 'vitest';
import { readSnapshot } from './server.ts';
import { formatSnapshot, parseSnapshot, snapshotFile } from './snapshot.ts';

it('the committed OpenAPI snapshot is what the pinned API server serves', async () => {
  await using server = await startControlPlane();
  const committed = parseSnapshot(await readFile(snapshotFile, 'utf8'));
  expect(formatSnapshot(await readSnapshot(server))).toBe(formatSnapshot(committed));
});
