import { sandboxClaims, sandboxTemplates } from '@sandlot/api-types';
import { createKubeClient, loadCredentials, persistentVolumeClaims } from '@sandlot/kube';
import type { KubeClient } from '@sandlot/kube';
import { Sandbox } from 'e2b';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { runKubectlOrFail } from '../support/kubectl.ts';
import { readAccess, LIFETIME_MS } from '../support/sdk/client.ts';
import type { Access } from '../support/sdk/client.ts';
import { TENANT } from '../support/sdk/objects.ts';

const NEIGHBOUR = 'tenant-b';
const TEMPLATE = `shared-${process.pid}`;
/** A volume of the first tenant. */
const OURS = `dataset-${process.pid}`;
/** A volume of the second tenant. */
const THEIRS = `private-${process.pid}`;
const PREFIX = 'e2b.agents.kruise.io/';

const buildManifests = (volume: string): string => `
apiVersion: extensions.agents.x-k8s.io/v1beta1
kind: SandboxTemplate
metadata: {name: ${TEMPLATE}}
spec:
  runtime: {inject: true}
  dynamicVolumesPolicy: Allowed
  podTemplate: {spec: {terminationGracePeriodSeconds: 0, containers: [{name: box, image: busybox, command: [sleep, infinity]}]}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: ${volume}}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 10Mi}}}
`;

let ours: Access;
let theirs: Access;
let client: KubeClient;
const stack = new AsyncDisposableStack();
beforeAll(async () => {
  ours = await readAccess();
  theirs = await readAccess('E2B_API_KEY_2');
  client = createKubeClient({ credentials: await loadCredentials({ kubeconfig: inject('kubeconfigPath') }) });
  stack.defer(() => client.close());
  for (const [namespace, name] of [
    [TENANT, OURS],
    [NEIGHBOUR, THEIRS],
  ] as const) {
    stack.defer(() => client.delete(persistentVolumeClaims, { namespace, name }));
    stack.defer(() => client.delete(sandboxTemplates, { namespace, name: TEMPLATE }));
    await runKubectlOrFail(['--namespace', namespace, 'apply', '-f', '-'], buildManifests(name));
  }
});
afterAll(() => stack.disposeAsync());

/** The keys of one volume. */
function nameVolume(name: string, mountPoint: string, subPath?: string): Record<string, string> {
  return {
    [`${PREFIX}csi-volume-name`]: name,
    [`${PREFIX}csi-mount-point`]: mountPoint,
    ...(subPath === undefined ? {} : { [`${PREFIX}csi-subpath`]: subPath }),
  };
}

/** The key of several volumes. */
const listVolumes = (...volumes: readonly object[]): Record<string, string> => ({
  [`${PREFIX}csi-volume-config`]: JSON.stringify(volumes),
});

/** Makes a sandbox, which ends with the test file. */
async function open(access: Access, metadata: Record<string, string>): Promise<Sandbox> {
  const sandbox = await Sandbox.create(TEMPLATE, { ...access, metadata, timeoutMs: LIFETIME_MS });
  stack.defer(async () => {
    await sandbox.kill();
  });
  return sandbox;
}

describe('volumes that a create names', () => {
  it('are PersistentVolumeClaims of the team, by the keys of one volume and by a list, and are shared', async () => {
    const writer = await open(ours, nameVolume(OURS, '/out'));
    await writer.files.write('/out/part/data', 'precious');
    const reader = await open(
      ours,
      listVolumes(
        { pvName: OURS, mountPath: '/in', subPath: 'part', readOnly: true },
        { pvName: OURS, mountPath: '/all' },
      ),
    );
    expect(await reader.files.read('/in/data')).toBe('precious');
    await expect(reader.files.write('/in/data', 'changed')).rejects.toThrow();
    await reader.files.write('/all/part/answer', 'of the reader');
    const third = await open(ours, nameVolume(OURS, '/mine', 'part'));
    expect(await third.files.read('/mine/answer')).toBe('of the reader');
    expect(await writer.files.read('/out/part/data')).toBe('precious');
    expect(Object.keys((await reader.getInfo()).metadata)).toEqual([`${PREFIX}sandbox-resource`]);
  });

  it('are there again after a pause', async () => {
    const sandbox = await open(ours, nameVolume(OURS, '/kept'));
    await sandbox.files.write('/kept/note', 'before the pause');
    expect(await sandbox.pause({ keepMemory: false })).toBe(true);
    const resumed = await Sandbox.connect(sandbox.sandboxId, ours);
    expect(await resumed.files.read('/kept/note')).toBe('before the pause');
  });

  it('are refused by a template that does not allow them, with its name', async () => {
    const metadata = nameVolume(OURS, '/data');
    await expect(Sandbox.create('base', { ...ours, metadata })).rejects.toThrow(
      /^400: .*SandboxTemplate "base" does not allow dynamicVolumes/,
    );
  });
});

describe('a volume of another tenant', () => {
  /** Short, because no sandbox of these creates ever starts. */
  const hasty = { [`${PREFIX}claim-timeout-seconds`]: '15' };

  it.each([`../${NEIGHBOUR}/${THEIRS}`, `${NEIGHBOUR}/${THEIRS}`, `${NEIGHBOUR}%2F${THEIRS}`])(
    'cannot be named: %s',
    async (name) => {
      for (const [key, metadata] of [
        ['csi-volume-name', nameVolume(name, '/loot')],
        ['csi-volume-config', listVolumes({ pvName: name, mountPath: '/loot' })],
      ] as const) {
        await expect(Sandbox.create(TEMPLATE, { ...ours, metadata })).rejects.toThrow(`400: ${PREFIX}${key}`);
      }
      expect(await listThieves()).toEqual([]);
    },
  );

  it('is not reached by its own name, nor by that of its PersistentVolume', async () => {
    const owner = await open(theirs, nameVolume(THEIRS, '/safe'));
    await owner.files.write('/safe/secret', 'precious');
    const { spec } = await client.get(persistentVolumeClaims, { namespace: NEIGHBOUR, name: THEIRS });
    expect(spec.volumeName ?? '').not.toBe('');
    for (const name of [THEIRS, spec.volumeName ?? '']) {
      const metadata = { ...listVolumes({ pvName: name, mountPath: '/loot' }), ...hasty };
      await expect(Sandbox.create(TEMPLATE, { ...ours, metadata })).rejects.toThrow(/not ready in time|not be started/);
    }
    expect(await listThieves()).toEqual([]);
    expect(await owner.files.read('/safe/secret')).toBe('precious');
  });

  /** Claims of the first tenant that mount something at the path of these tests. */
  async function listThieves(): Promise<readonly (string | undefined)[]> {
    const { items } = await client.list(sandboxClaims, { namespace: TENANT });
    return items
      .filter(({ spec }) => (spec.dynamicVolumes ?? []).some(({ mountPath }) => mountPath === '/loot'))
      .map(({ metadata }) => metadata.name);
  }
});
