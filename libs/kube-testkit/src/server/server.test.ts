import { FakeClock } from '@sandlot/std/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { pods } from '@sandlot/kube';
import { pod, widget, widgets, widgetsV1Alpha1 } from '../conformance/context.ts';
import { createRawRequester } from '../conformance/raw.ts';
import { startFakeApiServer } from './server.ts';
import type { FakeApiServer } from './server.ts';

const namespace = 'team-a';
const key = { namespace, name: 'a' };

let server: FakeApiServer;
beforeEach(async () => {
  server = await startFakeApiServer({ resources: [widgets, widgetsV1Alpha1], clock: new FakeClock() });
});
afterEach(() => server.stop());

describe('startFakeApiServer', () => {
  it('works as in the example of the README', async () => {
    const client = server.client({ user: 'widget-controller' });
    server.seed(widgets, { metadata: { namespace: 'team-a', name: 'a' }, spec: { color: 'red' } });
    await client.mergePatch(widgets, { namespace: 'team-a', name: 'a' }, { spec: { color: 'blue' } });
    expect(server.objects(widgets).map(({ spec }) => spec)).toEqual([{ color: 'blue' }]);
    const expected = { verb: 'patch', resource: 'widgets', key: 'team-a/a', user: 'widget-controller', code: 200 };
    expect(server.writes()).toMatchObject([expected]);
  });

  it('keeps seeded objects as they are and sets only missing fields', () => {
    const metadata = {
      uid: 'mine',
      generation: 7,
      deletionTimestamp: '2029-01-01T00:00:00Z',
      finalizers: ['example.com/f'],
    };
    const [seeded] = server.seed(widgets, widget(namespace, 'a', { metadata, status: { phase: 'Ready' } }));
    expect(seeded).toMatchObject({ metadata, status: { phase: 'Ready' }, kind: 'Widget' });
    expect(seeded?.metadata.creationTimestamp).toBe('2030-01-01T00:00:00Z');
    const [plain] = server.seed(widgets, widget(namespace, 'b'));
    expect(plain?.metadata).toMatchObject({ generation: 1, uid: expect.stringMatching(/^[0-9a-f-]{36}$/) as string });
  });

  it('returns objects in the version of the descriptor, sorted and by namespace', () => {
    server.seed(widgets, widget('b', 'x'), widget('a', 'y'), widget('a', 'x'));
    expect(
      server.objects(widgetsV1Alpha1).map(({ metadata }) => `${metadata.namespace ?? ''}/${metadata.name ?? ''}`),
    ).toEqual(['a/x', 'a/y', 'b/x']);
    expect(server.objects(widgets, 'b')).toHaveLength(1);
    expect(server.object(widgetsV1Alpha1, { namespace: 'b', name: 'x' })?.apiVersion).toBe(
      'testkit.sandlot.dev/v1alpha1',
    );
  });

  it('returns copies, so that changing one changes nothing on the server', () => {
    server.seed(widgets, widget(namespace, 'a'));
    const copy = server.object(widgets, key);
    if (copy?.spec !== undefined) copy.spec.color = 'green';
    expect(server.object(widgets, key)?.spec?.color).toBe('red');
  });

  it('changes and removes objects on behalf of other clients, and notifies listeners', async () => {
    const heard: string[] = [];
    const forget = server.onChange(widgets, ({ name }) => heard.push(name));
    server.seed(widgets, widget(namespace, 'a'));
    const changed = server.change(widgets, key, (object) => (object.status = { phase: 'Ready' }));
    expect(changed?.status).toEqual({ phase: 'Ready' });
    server.remove(widgets, key);
    expect(server.change(widgets, key, () => undefined)).toBeUndefined();
    await Promise.resolve();
    expect(heard).toEqual(['a', 'a', 'a']);
    forget();
    server.seed(widgets, widget(namespace, 'b'));
    await Promise.resolve();
    expect(heard).toHaveLength(3);
  });

  it('completes a deletion when a change removes the last finalizer', () => {
    const metadata = { deletionTimestamp: '2029-01-01T00:00:00Z', finalizers: ['example.com/f'] };
    server.seed(pods, pod(namespace, 'a', metadata));
    server.change(pods, key, (object) => (object.metadata.finalizers = []));
    expect(server.object(pods, key)).toBeUndefined();
  });

  it('generates the same uids in every run', async () => {
    await using other = await startFakeApiServer({ resources: [widgets] });
    const uids = [server, other].map((one) => one.seed(widgets, widget(namespace, 'a'))[0]?.metadata.uid);
    expect(uids[0]).toBe(uids[1]);
  });

  it('serves health and version, and answers 404 to everything else', async () => {
    const raw = createRawRequester(server.credentials());
    const get = async (path: string): Promise<unknown> => (await raw({ method: 'GET', path })).body;
    expect(await get('/readyz')).toBe('ok');
    expect(await get('/version')).toMatchObject({ major: '1' });
    expect(await get('/openapi/v3')).toBe('404 page not found\n');
    expect(() => server.objects({ ...widgets, plural: 'gadgets' })).toThrow(
      'does not serve testkit.sandlot.dev/gadgets',
    );
  });
});
