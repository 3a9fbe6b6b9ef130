import { Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import { createKubeMetrics } from './metrics.ts';
import { pods } from './objects/resources.ts';
import { readError, startServer, testClient } from '../test/http-server.ts';

const listLines = async (registry: Registry, prefix: string): Promise<string[]> =>
  (await registry.metrics()).split('\n').filter((line) => line.startsWith(prefix));

describe('createKubeMetrics', () => {
  it('samples gauges when scraped and adds up what shares a label', async () => {
    const registry = new Registry();
    const metrics = createKubeMetrics(registry);
    let depth = 1;
    metrics.watchQueue('claims', () => ({ depth, running: 2, unfinishedSeconds: 0.5, longestRunningSeconds: 0.25 }));
    metrics.watchInformer('pods', () => ({ objects: 3, lastEventAgeSeconds: 1 }));
    metrics.watchInformer('pods', () => ({ objects: 4, lastEventAgeSeconds: 2 }));
    depth = 7;
    expect(await listLines(registry, 'sandlot_queue_depth')).toEqual(['sandlot_queue_depth{controller="claims"} 7']);
    expect(await listLines(registry, 'sandlot_kube_informer_objects')).toEqual([
      'sandlot_kube_informer_objects{resource="pods"} 7',
    ]);
  });

  it('counts everything the library reports', async () => {
    const registry = new Registry();
    const metrics = createKubeMetrics(registry);
    metrics.requestRetried({ verb: 'get', resource: 'pods', code: '429' });
    metrics.requestThrottled('background', 1);
    metrics.pingAnswered(0.001);
    metrics.countRelist('pods', 'Gone');
    metrics.watchEventReceived('pods', 'ADDED');
    metrics.countHandlerFailure('pods');
    metrics.observeQueueWait('claims', 1);
    metrics.observeQueueWork('claims', 1);
    metrics.countQueueRetry('claims');
    metrics.observeReconcile({ controller: 'claims', result: 'done' }, 0.5);
    metrics.setWorkers('claims', 1);
    metrics.setLeader('claims', true);
    metrics.countExpiredExpectation('create');
    metrics.countDroppedEvent('full');
    const counted = (await registry.metrics())
      .split('\n')
      .filter((line) => /(_total|_count|_leader|_workers)(\{.*\})? 1$/.test(line));
    expect(counted).toHaveLength(14);
  });

  it('shows calls by verb, resource and code, and the sessions they run on', async () => {
    const registry = new Registry();
    await using server = await startServer((_seen, respond) => respond({ status: 404 }));
    await using client = testClient({ credentials: server.credentials(), metrics: createKubeMetrics(registry) });
    await readError(client.get(pods, { namespace: 'n', name: 'a' }));
    expect(await listLines(registry, 'sandlot_kube_request_seconds_count')).toEqual([
      'sandlot_kube_request_seconds_count{verb="get",resource="pods",code="404"} 1',
    ]);
    expect(client.sample()).toMatchObject({ sessions: { call: 1, bulk: 0 } });
  });
});
