// The collector with the image plane and a registry: what it deletes is gone, and what it keeps can be pulled.
import { sandboxes, sandboxTemplateBuilds, sandboxTemplates } from '@sandlot/api-types';
import { sandboxClaims, sandboxSnapshots, sandboxWarmPools } from '@sandlot/api-types';
import { configMaps } from '@sandlot/kube';
import type { KubeClient } from '@sandlot/kube';
import { startFakeApiServer } from '@sandlot/kube-testkit';
import type { FakeApiServer } from '@sandlot/kube-testkit';
import { silentLogger } from '@sandlot/std';
import { FakeClock } from '@sandlot/std/testing';
import { createMetrics } from '@sandlot/telemetry';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { RealImages } from '../../test/real-images.ts';
import { PlaneClient } from '../plane/plane-client.ts';
import type { BuiltImage } from '../plane/plane.ts';
import { createImageMetrics } from '../telemetry/image-metrics.ts';
import { collectImages } from './collect-images.ts';
import { formatImageTag } from './image-tag.ts';
import { enrolNamespace } from './record.ts';

const GRACE_MS = 60_000;
const KEY = { namespace: 'system', name: 'images' };
const REPOSITORY = 'team/build.images';
const { signal } = new AbortController();

const stack = new AsyncDisposableStack();
let images: RealImages;
let server: FakeApiServer;
let client: KubeClient;
let plane: PlaneClient;
let base: string;
const clock = new FakeClock();
beforeAll(async () => {
  images = stack.use(await RealImages.start());
  const kinds = [sandboxTemplateBuilds, sandboxTemplates, sandboxWarmPools, sandboxSnapshots, sandboxClaims, sandboxes];
  server = await startFakeApiServer({ resources: [...kinds, configMaps], clock });
  stack.defer(() => server.stop());
  client = server.client();
  server.seed(configMaps, { metadata: KEY });
  plane = new PlaneClient({ socketPath: images.plane.socketPath, registry: images.registry, clock });
  base = await images.push(images.foreign, 'library/base:1', 'maker=tenant');
});
afterAll(() => stack.disposeAsync());

/** Pushes what a build of this UID makes. All have the same layers. */
async function push(build: string): Promise<BuiltImage> {
  const tag = formatImageTag((await enrolNamespace({ client, key: KEY }, 'team', signal)) ?? '', build);
  return plane.assemble({ base: { image: base }, repository: REPOSITORY, tag, labels: { tag } }, signal);
}

async function collect(): Promise<void> {
  const metrics = createImageMetrics(createMetrics({ processMetrics: false }).registry);
  const deps = { client, clock, log: silentLogger, plane, metrics, key: KEY, served: undefined, graceMs: GRACE_MS };
  for (let pass = 0; pass < 2; pass += 1) {
    expect(await collectImages(deps, signal)).toBe('done');
    await clock.advance(GRACE_MS);
  }
  expect(await collectImages(deps, signal)).toBe('done');
}

it('a registry loses the image that nothing needs, and keeps one with the same layers that a paused Sandbox needs', async () => {
  const gone = await push('0190b5a2-7c9e-7d7b-8f3a-000000000001');
  const kept = await push('0190b5a2-7c9e-7d7b-8f3a-000000000002');
  expect(gone.digest).not.toBe(kept.digest);
  const podTemplate = { spec: { containers: [{ name: 'sandbox', image: kept.image }] } };
  const metadata = { namespace: 'other', name: 'paused' };
  server.seed(sandboxes, { metadata, spec: { podTemplate, operatingMode: 'Suspended' } });
  await collect();
  const { tags } = await plane.listTags(REPOSITORY, signal);
  expect(tags).toEqual([expect.stringMatching(/000000000002$/)]);
  await expect(images.readFile(gone.image, 'base.txt')).rejects.toThrow('MANIFEST_UNKNOWN');
  expect(await images.readFile(kept.image, 'base.txt')).toBe('the base library/base:1');
  server.remove(sandboxes, metadata);
  await collect();
  expect(await plane.listTags(REPOSITORY, signal)).toEqual({ tags: [], whole: true });
});
