import { startControlPlane } from '@sandlot/local-cluster';
import type { ControlPlane } from '@sandlot/local-cluster';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createKubeClient } from '../client/client.ts';
import type { KubeClient } from '../client/types.ts';
import { loadCredentials } from '../credentials/load-credentials.ts';
import { noMetrics } from '../metrics.ts';
import { createEventRecorder } from './recorder.ts';
import { events, namespaces } from '../objects/resources.ts';

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

describe('events on a real API server', () => {
  it('are accepted, as single events and as series', async () => {
    const dropped: string[] = [];
    const metrics = { ...noMetrics, countDroppedEvent: (reason: string) => void dropped.push(reason) };
    const recorder = createEventRecorder({ client, metrics, controller: 'sandlot.dev/test', instance: 'test-0' });
    const object = await client.get(namespaces, { name: 'default' });
    const eventInput = (message: string) => ({ object, type: 'Normal' as const, reason: 'Tested', message });
    recorder.record(eventInput('once'));
    recorder.record(eventInput('again'));
    recorder.record({ ...eventInput('x'.repeat(5_000)), type: 'Warning', related: object });
    await recorder.flush();
    recorder.record(eventInput('again'));
    recorder.record(eventInput('again'));
    await recorder.flush();
    expect(dropped).toEqual([]);
    const { items } = await client.listAll(events, { namespace: 'default' });
    const ours = items.filter((event) => event.reason === 'Tested');
    const summary = ours.map(({ note = '', series }) => [note.slice(0, 5), note.length, series?.count]).sort();
    expect(summary).toEqual([
      ['again', 5, 3],
      ['once', 4, undefined],
      ['xxxxx', 1_024, undefined],
    ]);
    const shown = await plane.kubectl(['get', 'events', '-n', 'default']);
    expect(shown.stdout).toContain('Tested');
  });

  it('are accepted as a series from the first write', async () => {
    const recorder = createEventRecorder({ client, controller: 'sandlot.dev/test', instance: 'test-0' });
    const object = await client.get(namespaces, { name: 'default' });
    for (let n = 0; n < 4; n++) recorder.record({ object, type: 'Normal', reason: 'Burst', message: 'four' });
    await recorder.flush();
    const { items } = await client.listAll(events, { namespace: 'default' });
    expect(items.find((event) => event.reason === 'Burst')?.series?.count).toBe(4);
  });
});
