import { fileURLToPath } from 'node:url';
import { annotations, labels, sandboxTemplates, sandboxWarmPools } from '@sandlot/api-types';
import type { SandboxTemplate, SandboxTemplateBuild } from '@sandlot/api-types';
import { createKubeClient, isConflict, loadCredentials } from '@sandlot/kube';
import type { KubeClient } from '@sandlot/kube';
import { startControlPlane } from '@sandlot/local-cluster';
import type { ControlPlane } from '@sandlot/local-cluster';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BuildFailure } from '../run/build-failure.ts';
import { publishTemplates } from './publish.ts';
import type { PublishDeps } from './publish.ts';

const CRDS = fileURLToPath(new URL('../../../../charts/sandlot/files/crds', import.meta.url));
const PLACE = 'default';
const { signal } = new AbortController();

let plane: ControlPlane;
let client: KubeClient;
beforeAll(async () => {
  plane = await startControlPlane({ crds: [CRDS] });
  client = createKubeClient({ credentials: await loadCredentials({ kubeconfig: plane.kubeconfigPath }) });
});
afterAll(async () => {
  await client.close();
  await plane.stop();
});

type Wanted = SandboxTemplateBuild['spec']['templates'][number];

interface Publishing {
  readonly wanted: Wanted;
  readonly image?: string;
  readonly build?: string;
  readonly deps?: Partial<PublishDeps>;
}

function publish({ wanted, image = 'registry/app@sha256:1', build = 'one', deps = {} }: Publishing): Promise<void> {
  const object = {
    metadata: { namespace: PLACE, name: build, uid: `uid-${build}` },
    spec: { templates: [wanted], cpu: 3, startCommand: 'serve' },
  };
  const state = { user: 'app', workdir: '/srv', env: {} };
  const result = { image: { image, digest: '', labels: {} }, state, cachedSteps: 0 };
  return publishTemplates({ client, defaults: {}, poolReplicas: 0, ...deps }, object, { result, signal });
}

const at = (name: string) => ({ namespace: PLACE, name });
const read = (name: string): Promise<SandboxTemplate> => client.get(sandboxTemplates, at(name));
const findImage = ({ spec }: SandboxTemplate): string | undefined => spec.podTemplate.spec.containers[0]?.image;

describe('the SandboxTemplate of a build', () => {
  it('is created with its image, commands and size', async () => {
    await publish({ wanted: { name: 'made' } });
    const made = await read('made');
    expect(made.metadata.labels).toEqual({ [labels.builtBy]: 'template-build', [labels.templateBuild]: 'uid-one' });
    expect(made.metadata.annotations).toEqual({ [annotations.buildName]: 'one' });
    const [container] = made.spec.podTemplate.spec.containers;
    expect(container).toMatchObject({ image: 'registry/app@sha256:1', resources: { limits: { cpu: '3' } } });
    expect(container?.env).toContainEqual({ name: 'SANDLOT_START_COMMAND', value: 'serve' });
    expect(made.spec.runtime).toMatchObject({ inject: true });
    expect(await client.find(sandboxWarmPools, at('made'))).toBeUndefined();
  });

  it('gets the image and the annotations of the next build, and keeps what others wrote', async () => {
    await publish({ wanted: { name: 'next', annotations: { team: 'one' } } });
    const spec = { networkPolicyManagement: 'Unmanaged' };
    await client.mergePatch(sandboxTemplates, at('next'), { metadata: { labels: { mine: 'yes' } }, spec });
    const wanted = { name: 'next', annotations: { team: 'two' } };
    await publish({ wanted, build: 'two', image: 'registry/app@sha256:2' });
    const next = await read('next');
    expect(findImage(next)).toBe('registry/app@sha256:2');
    expect(next.metadata.annotations).toMatchObject({ team: 'two', [annotations.buildName]: 'two' });
    expect(next.metadata.labels).toMatchObject({ mine: 'yes', [labels.templateBuild]: 'uid-two' });
    expect(next.spec.networkPolicyManagement).toBe('Unmanaged');
  });

  it('is not overwritten when it changes between the look and the write', async () => {
    await publish({ wanted: { name: 'raced' } });
    const racing: PublishDeps['client'] = {
      create: (...args) => client.create(...args),
      mergePatch: (...args) => client.mergePatch(...args),
      find: async (resource, key, options) => {
        const found = await client.find(resource, key, options);
        await client.mergePatch(sandboxTemplates, at('raced'), { metadata: { labels: { meanwhile: 'yes' } } });
        return found;
      },
    };
    const again = { wanted: { name: 'raced' }, image: 'registry/app@sha256:2' };
    await expect(publish({ ...again, deps: { client: racing } })).rejects.toSatisfy(isConflict);
    expect(findImage(await read('raced'))).toBe('registry/app@sha256:1');
    await publish(again);
    expect(findImage(await read('raced'))).toBe('registry/app@sha256:2');
  });

  it('is not taken from an author who wrote it', async () => {
    const podTemplate = { spec: { containers: [{ name: 'main', image: 'mine' }] } };
    await client.create(sandboxTemplates, { metadata: at('foreign'), spec: { podTemplate } });
    const failed = publish({ wanted: { name: 'foreign' }, deps: { poolReplicas: 2 } });
    await expect(failed).rejects.toMatchObject({ name: 'BuildFailure', reason: 'TemplateExists', step: 'finalize' });
    expect(findImage(await read('foreign'))).toBe('mine');
    expect(await client.find(sandboxWarmPools, at('foreign'))).toBeUndefined();
  });

  it('has no reserved keys of the author but those that clients of the API need', async () => {
    const open = { [annotations.templateName]: 'app', [annotations.templateTag]: 'v1', [annotations.aliases]: 'a' };
    const forged = {
      [annotations.buildName]: 'another',
      [annotations.tokenKey]: '7',
      'agents.x-k8s.io/any': 'x',
      'extensions.agents.x-k8s.io/any': 'x',
    };
    const reserved = { [labels.builtBy]: 'me', [labels.sandboxId]: 'x', [labels.templateBuild]: 'another' };
    await publish({
      wanted: {
        name: 'keys',
        labels: { team: 'a', [labels.templateId]: 'abc', ...reserved },
        annotations: { 'example.com/note': 'n', ...open, ...forged },
      },
    });
    const { metadata } = await read('keys');
    expect(metadata.labels).toEqual({
      team: 'a',
      [labels.templateId]: 'abc',
      [labels.builtBy]: 'template-build',
      [labels.templateBuild]: 'uid-one',
    });
    expect(metadata.annotations).toEqual({ 'example.com/note': 'n', ...open, [annotations.buildName]: 'one' });
  });

  it.each<readonly [string, Wanted, Partial<PublishDeps>]>([
    ['for a label that is none', { name: 'refused-label', labels: { team: 'no label!' } }, {}],
    [
      'for what the operator wants of all',
      { name: 'refused-spec' },
      { defaults: { networkPolicyManagement: 'Sometimes' as 'Managed' } },
    ],
  ])('fails the build when the API server refuses it %s', async (_, wanted, deps) => {
    const failure: unknown = await publish({ wanted, deps }).catch((error: unknown) => error);
    if (!(failure instanceof BuildFailure)) throw new Error(`the build did not fail: ${String(failure)}`);
    expect(failure).toMatchObject({ reason: 'TemplateRefused', step: 'finalize' });
    expect(failure.message).toContain(`SandboxTemplate "${wanted.name}" was refused: `);
    expect(await client.find(sandboxTemplates, at(wanted.name))).toBeUndefined();
  });
});

describe('the pool of a template', () => {
  it('comes with its first build, belongs to it, and stays as its owner wants it', async () => {
    const deps = { poolReplicas: 2 };
    await publish({ wanted: { name: 'pooled' }, deps });
    const { metadata } = await read('pooled');
    const pool = await client.get(sandboxWarmPools, at('pooled'));
    expect(pool.spec).toMatchObject({ replicas: 2, sandboxTemplateRef: { name: 'pooled' } });
    expect(pool.metadata.ownerReferences).toMatchObject([{ kind: 'SandboxTemplate', uid: metadata.uid }]);
    await client.mergePatch(sandboxWarmPools, at('pooled'), { spec: { replicas: 5 } });
    await publish({ wanted: { name: 'pooled' }, build: 'two', deps });
    expect((await client.get(sandboxWarmPools, at('pooled'))).spec.replicas).toBe(5);
  });
});
