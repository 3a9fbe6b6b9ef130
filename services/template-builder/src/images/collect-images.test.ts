import {
  annotations,
  labels,
  sandboxClaims,
  sandboxSnapshots,
  sandboxTemplateBuilds,
  sandboxTemplates,
  sandboxWarmPools,
  sandboxes,
} from '@sandlot/api-types';
import { configMaps } from '@sandlot/kube';
import type { KubeObject, Resource } from '@sandlot/kube';
import { startFakeApiServer } from '@sandlot/kube-testkit';
import { silentLogger } from '@sandlot/std';
import { FakeClock } from '@sandlot/std/testing';
import { createMetrics } from '@sandlot/telemetry';
import { describe, expect, it, onTestFinished } from 'vitest';
import { PlaneError } from '../plane/plane.ts';
import type { ImageStore } from '../plane/plane.ts';
import { createImageMetrics } from '../telemetry/image-metrics.ts';
import { collectImages } from './collect-images.ts';
import type { CollectDeps } from './collect-images.ts';
import { formatImageTag } from './image-tag.ts';
import { enrolNamespace } from './record.ts';

const KINDS = [sandboxTemplateBuilds, sandboxTemplates, sandboxWarmPools, sandboxSnapshots, sandboxClaims, sandboxes];
const GRACE_MS = 3_600_000;
const BUILD = '0190b5a2-7c9e-7d7b-8f3a-2f1e3c4d5e6f';
const DIGEST = `sha256:${'a'.repeat(64)}`;
const KEY = { namespace: 'system', name: 'images' };
const { signal } = new AbortController();

/** The rules of a registry, in memory. */
class Registry implements ImageStore {
  readonly tags = new Map<string, string>();
  keeps = false;
  error: Error | undefined;
  /** The repository that cannot be listed. */
  closed: string | undefined;
  /** The tag whose image cannot be read. */
  broken: string | undefined;
  asked = 0;

  listTags(repository: string) {
    if (repository === this.closed) return Promise.reject(new PlaneError('denied', 'no'));
    const tags = [...this.tags.keys()].filter((key) => key.startsWith(`${repository}:`));
    return Promise.resolve({ tags: tags.map((key) => key.slice(repository.length + 1)), whole: true });
  }

  findTag(repository: string, tag: string) {
    if (tag === this.broken) return Promise.reject(new PlaneError('unsupported', 'no image'));
    const digest = this.tags.get(`${repository}:${tag}`);
    return Promise.resolve(digest === undefined ? undefined : { image: '', digest, labels: {} });
  }

  deleteImage(reference: string) {
    this.asked += 1;
    if (this.error !== undefined) return Promise.reject(this.error);
    const [repository, digest] = reference.split('@');
    for (const [key, value] of this.tags)
      if (!this.keeps && key.startsWith(`${repository ?? ''}:`) && value === digest) this.tags.delete(key);
    return Promise.resolve({ kept: this.keeps });
  }
}

/** An installation with one image of a build of `team` that is gone. */
async function setup(more: Partial<CollectDeps> = {}) {
  const clock = new FakeClock();
  const server = await startFakeApiServer({ resources: [...KINDS, configMaps], clock });
  onTestFinished(() => server.stop());
  const client = server.client();
  const registry = new Registry();
  const metrics = createMetrics({ processMetrics: false }).registry;
  server.seed(configMaps, { metadata: KEY });
  const installation = (await enrolNamespace({ client, key: KEY }, 'team', signal)) ?? '';
  const tag = formatImageTag(installation, BUILD);
  registry.tags.set(`team/build.images:${tag}`, DIGEST);
  const deps: CollectDeps = {
    ...{ client, clock, log: silentLogger, key: KEY, served: undefined, graceMs: GRACE_MS, plane: registry },
    metrics: createImageMetrics(metrics),
    ...more,
  };
  const collect = () => collectImages(deps, signal);
  const wait = (): Promise<void> => clock.advance(GRACE_MS);
  /** Marks what can go, waits for as long as it has to, and has it deleted. */
  const collectAll = async () => {
    await collect();
    await wait();
    return collect();
  };
  return { server, registry, deps, client, tag, installation, metrics, collect, wait, collectAll };
}

const container = { name: 'sandbox', image: `registry.example.com/sandlot/team/build.images@${DIGEST}` };
const podTemplate = { spec: { containers: [container] } };
const named = { namespace: 'elsewhere', name: 'object' };
/** A Sandbox that is paused has no Pod; the image is in its spec alone. */
const paused = { podTemplate, operatingMode: 'Suspended' };

const REFERENCES: readonly (readonly [string, Resource<KubeObject>, object])[] = [
  ['a build that is kept, or that runs', sandboxTemplateBuilds, { metadata: { ...named, uid: BUILD } }],
  [
    'a build that names it in its status',
    sandboxTemplateBuilds,
    { metadata: named, status: { image: container.image } },
  ],
  ['a template', sandboxTemplates, { metadata: named, spec: { podTemplate } }],
  [
    'a template that names the build alone',
    sandboxTemplates,
    { metadata: { ...named, labels: { [labels.templateBuild]: BUILD } } },
  ],
  ['a warm pool with a Pod template of its own', sandboxWarmPools, { metadata: named, spec: { podTemplate } }],
  ['a claim that asks for the image', sandboxClaims, { metadata: named, spec: { update: { image: container.image } } }],
  ['a Sandbox that runs', sandboxes, { metadata: named, spec: { podTemplate } }],
  ['a Sandbox that is paused', sandboxes, { metadata: named, spec: paused }],
  [
    'a snapshot that remembers it',
    sandboxSnapshots,
    { metadata: { ...named, annotations: { [annotations.buildName]: container.image } } },
  ],
  [
    'a template that names it by its tag',
    sandboxTemplates,
    { metadata: named, spec: { podTemplate: { spec: { containers: [{ image: `r/team/build.images:x-${BUILD}` }] } } } },
  ],
];

describe('an image of a build', () => {
  it('is deleted when nothing has needed it for the grace period, and not before', async () => {
    const { registry, collect, wait, metrics } = await setup();
    expect(await collect()).toBe('done');
    expect(registry.asked).toBe(0);
    await wait();
    expect(await collect()).toBe('done');
    expect([...registry.tags]).toEqual([]);
    expect(await metrics.metrics()).toContain('sandlot_template_images_total{result="deleted"} 1');
  });

  it.each(REFERENCES)('stays for %s, in any namespace, and goes after it', async (_, resource, object) => {
    const { server, registry, collectAll } = await setup();
    server.seed(resource, object as KubeObject);
    await collectAll();
    await collectAll();
    expect(registry.asked).toBe(0);
    server.remove(resource, named);
    await collectAll();
    expect([...registry.tags]).toEqual([]);
  });

  it('waits anew after an object has named it meanwhile', async () => {
    const { server, registry, collect, wait } = await setup();
    await collect();
    await wait();
    server.seed(sandboxTemplates, { metadata: named, spec: { podTemplate } } as KubeObject);
    await collect();
    server.remove(sandboxTemplates, named);
    await collect();
    expect(registry.asked).toBe(0);
  });

  it('stays when an object names it between two looks of the pass that would delete it', async () => {
    const { server, registry, collect, wait, deps } = await setup();
    await collect();
    await wait();
    let lists = 0;
    const client: CollectDeps['client'] = {
      find: (...call) => deps.client.find(...call),
      mergePatch: (...call) => deps.client.mergePatch(...call),
      listAll: (...call) => {
        lists += 1;
        if (lists === KINDS.length + 1)
          server.seed(sandboxTemplates, { metadata: named, spec: { podTemplate } } as KubeObject);
        return deps.client.listAll(...call);
      },
    };
    await collectImages({ ...deps, client }, signal);
    expect(registry.asked).toBe(0);
    await collect();
    expect(registry.asked).toBe(0);
  });

  it.each([
    ['that another installation made', (registry: Registry) => `team/build.images:${registry.tags.size}-${BUILD}`],
    ['of an earlier release, which says nothing of an installation', () => `team/build.images:${BUILD}`],
    ['in a repository of steps', () => `team/build.cache:c-${BUILD}`],
    ['in a repository whose name begins with that of the namespace', () => `team-b/build.images:${BUILD}`],
  ])('%s is never deleted', async (_, name) => {
    const { registry, collectAll } = await setup();
    const key = name(registry);
    registry.tags.set(key, `sha256:${'b'.repeat(64)}`);
    await collectAll();
    await collectAll();
    expect([...registry.tags.keys()]).toEqual([key]);
  });
});

describe('nothing is deleted', () => {
  it.each(KINDS.map(({ plural }) => [plural]))('while %s cannot be read', async (resource) => {
    const { server, registry, collect, wait } = await setup();
    await collect();
    await wait();
    server.faults.failNext({ match: { verb: 'list', resource }, answer: { status: 403 }, times: 9 });
    await expect(collect()).rejects.toThrow();
    expect(registry.asked).toBe(0);
  });

  it('while the record names a namespace that is not served any more, since its objects cannot be seen', async () => {
    const { deps, registry, wait, collect, metrics } = await setup();
    await collect();
    await wait();
    expect(await collectImages({ ...deps, served: ['other'] }, signal)).toBe('blocked');
    expect(registry.asked).toBe(0);
    expect(await metrics.metrics()).toContain('sandlot_template_images_blocked 1');
  });

  it('without the record', async () => {
    const { server, registry, collect } = await setup();
    server.remove(configMaps, KEY);
    expect(await collect()).toBe('blocked');
    expect(registry.asked).toBe(0);
  });

  it('when the mark cannot be written, and the next pass goes on', async () => {
    const { server, registry, collect, collectAll } = await setup();
    server.faults.failNext({ match: { verb: 'patch', resource: 'configmaps' }, answer: { status: 409 } });
    await expect(collect()).rejects.toThrow();
    await collectAll();
    expect([...registry.tags]).toEqual([]);
  });
});

describe('a registry', () => {
  it.each([
    ['that cannot delete', (registry: Registry) => (registry.keeps = true)],
    ['whose credentials may not delete', (registry: Registry) => (registry.error = new PlaneError('denied', 'no'))],
  ])('%s is asked for one image in a pass, and counted', async (_, refuse) => {
    const { registry, tag, collectAll, metrics } = await setup();
    registry.tags.set(`team/build.images:${tag.replace('3c4d', '3c4e')}`, `sha256:${'b'.repeat(64)}`);
    refuse(registry);
    expect(await collectAll()).toBe('refused');
    expect(registry.asked).toBe(1);
    expect(await metrics.metrics()).toContain('sandlot_template_images_total{result="refused"} 1');
  });

  it('that does not list a repository, or cannot read an image, loses the others all the same', async () => {
    const { client, installation, registry, tag, collectAll } = await setup();
    const sound = formatImageTag(installation, BUILD.replace('3c4d', '3c4e'));
    registry.tags.set(`team/build.images:${sound}`, `sha256:${'b'.repeat(64)}`);
    await enrolNamespace({ client, key: KEY }, 'closed', signal);
    registry.closed = 'closed/build.images';
    registry.broken = tag;
    await collectAll();
    expect([...registry.tags.keys()]).toEqual([`team/build.images:${tag}`]);
  });

  it('that cannot be reached for a moment has the image deleted in the next pass', async () => {
    const { registry, collect, collectAll } = await setup();
    registry.error = new PlaneError('unreachable', 'away');
    await expect(collectAll()).rejects.toThrow('away');
    registry.error = undefined;
    await collect();
    expect([...registry.tags]).toEqual([]);
  });
});

describe('the record', () => {
  it('loses a namespace that has been empty for the grace period, unless a build comes back to it', async () => {
    const { server, client, installation, collect, wait, collectAll } = await setup();
    const read = () => Object.keys(server.object(configMaps, KEY)?.data ?? {});
    await collectAll();
    await collect();
    expect(await enrolNamespace({ client, key: KEY }, 'team', signal)).toBe(installation);
    await wait();
    await collect();
    expect(read()).toEqual(['team']);
    await wait();
    await collect();
    expect(read()).toEqual([]);
  });

  it('has every namespace that is listed by name, so that one that is not served later is noticed', async () => {
    const { server, deps } = await setup();
    await collectImages({ ...deps, served: ['team', 'quiet'] }, signal);
    expect(Object.keys(server.object(configMaps, KEY)?.data ?? {}).toSorted()).toEqual(['quiet', 'team']);
  });

  it('takes a bounded part of the garbage of a namespace at a time, and the rest later', async () => {
    const { registry, installation, collect, collectAll } = await setup();
    for (let at = 100; at < 350; at += 1)
      registry.tags.set(
        `team/build.images:${formatImageTag(installation, BUILD.replace(/...$/, String(at)))}`,
        `sha256:${String(at).padStart(64, '0')}`,
      );
    await collectAll();
    expect(registry.asked).toBe(100);
    await collectAll();
    await collectAll();
    expect([...registry.tags]).toEqual([]);
    await collect();
  });
});
