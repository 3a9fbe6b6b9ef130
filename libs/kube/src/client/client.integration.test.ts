import { startControlPlane } from '@sandlot/local-cluster';
import type { ControlPlane } from '@sandlot/local-cluster';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadCredentials } from '../credentials/load-credentials.ts';
import { isAlreadyExists, isConflict, isForbidden, isInvalid, isNotFound } from '../errors.ts';
import { defineResource } from '../objects/object.ts';
import type { KubeObject } from '../objects/object.ts';
import { readError } from '../../test/http-server.ts';
import { createKubeClient } from './client.ts';
import type { KubeClient } from './types.ts';

interface ConfigMap extends KubeObject {
  data?: Record<string, string>;
}

const configMaps = defineResource<ConfigMap>({
  group: '',
  version: 'v1',
  plural: 'configmaps',
  kind: 'ConfigMap',
  namespaced: true,
});

let plane: ControlPlane;
let client: KubeClient;
beforeAll(async () => {
  plane = await startControlPlane();
  client = createKubeClient({ credentials: await loadCredentials({ kubeconfig: plane.kubeconfigPath }) });
});
afterAll(async () => {
  await client.close();
  await plane.stop();
});

const at = (name: string) => ({ namespace: 'default', name });
const make = (
  name: string,
  data: Record<string, string> = {},
  labels: Record<string, string> = {},
): Promise<ConfigMap> => client.create(configMaps, { metadata: { ...at(name), labels }, data });

describe('a real API server', () => {
  it('creates, reads, patches in three formats and deletes an object', async () => {
    const key = at('writes');
    const created = await make('writes', { a: '1' });
    expect(created).toMatchObject({ apiVersion: 'v1', kind: 'ConfigMap', data: { a: '1' } });
    await client.mergePatch(configMaps, key, { data: { b: '2' } }, { fieldManager: 'test' });
    await client.patchJson(configMaps, key, [
      { op: 'test', path: '/data/b', value: '2' },
      { op: 'replace', path: '/data/a', value: '3' },
    ]);
    const object = { metadata: key, data: { c: '4' } };
    await client.apply(configMaps, object, { fieldManager: 'applier', force: false });
    expect((await client.get(configMaps, key)).data).toEqual({ a: '3', b: '2', c: '4' });
    await client.delete(configMaps, key);
    expect(isNotFound(await readError(client.get(configMaps, key)))).toBe(true);
  });

  it('refuses outdated preconditions, existing names, foreign fields and invalid objects, each with its own error', async () => {
    const key = at('refused');
    const { metadata } = await make('refused', { a: '1' });
    await client.mergePatch(configMaps, key, { data: { a: '2' } }, { fieldManager: 'other' });
    const stale = { metadata: { resourceVersion: metadata.resourceVersion }, data: { a: '3' } };
    expect(await readError(client.mergePatch(configMaps, key, stale))).toSatisfy(isConflict);
    expect(await readError(client.delete(configMaps, key, { uid: 'another' }))).toSatisfy(isConflict);
    expect(await readError(make('refused'))).toSatisfy(isAlreadyExists);
    const foreign = { metadata: key, data: { a: '4' } };
    const applied = client.apply(configMaps, foreign, { fieldManager: 'applier', force: false });
    expect(await readError(applied)).toSatisfy(isConflict);
    expect(await readError(make('Not A Name'))).toSatisfy(isInvalid);
    expect((await client.get(configMaps, key)).data).toEqual({ a: '2' });
  });

  it('forbids the requests of a user without roles', async () => {
    const kubeconfig = await plane.kubeconfigFor('nobody');
    const stranger = createKubeClient({ credentials: await loadCredentials({ kubeconfig }) });
    expect(await readError(stranger.list(configMaps))).toSatisfy(isForbidden);
    await stranger.close();
  });

  it('lists all pages of one snapshot and filters by label', async () => {
    await Promise.all(Array.from({ length: 7 }, (_, n) => make(`paged-${n}`, {}, { paged: 'yes' })));
    const { items } = await client.listAll(configMaps, { namespace: 'default', labelSelector: 'paged=yes', limit: 3 });
    expect(items.map(({ metadata, kind }) => `${kind} ${metadata.name}`)).toEqual(
      Array.from({ length: 7 }, (_, n) => `ConfigMap paged-${n}`),
    );
  });

  it('sends the events after a list in order, with text intact', async () => {
    const { resourceVersion } = await client.list(configMaps, { namespace: 'default' });
    await make('watched', { text: 'ünïcödé 🏖' });
    await client.mergePatch(configMaps, at('watched'), { data: { text: null } });
    await client.delete(configMaps, at('watched'));
    const seen: unknown[] = [];
    for await (const event of client.watch(configMaps, { namespace: 'default', resourceVersion })) {
      seen.push([event.type, (event.object as ConfigMap).data]);
      if (event.type === 'DELETED') break;
    }
    expect(seen).toEqual([
      ['ADDED', { text: 'ünïcödé 🏖' }],
      ['MODIFIED', undefined],
      ['DELETED', undefined],
    ]);
  });

  it('marks the end of a streaming list with a bookmark', async () => {
    await make('streamed', {}, { streamed: 'yes' });
    const seen: string[] = [];
    const options = { labelSelector: 'streamed=yes', sendInitialEvents: true };
    for await (const { type, object } of client.watch(configMaps, options)) {
      seen.push(type);
      if (object.metadata.annotations?.['k8s.io/initial-events-end'] === 'true') break;
    }
    expect(seen).toEqual(['ADDED', 'BOOKMARK']);
  });

  it('answers the same client after a kill and restart', async () => {
    await make('survivor');
    await plane.restart();
    expect((await client.get(configMaps, at('survivor'))).metadata.name).toBe('survivor');
  });
});
