import { describe, expect, it } from 'vitest';
import { done, parseKey, pods, requeueAfter, RetryableError } from '@sandlot/kube';
import { pod, widget, widgets } from '../conformance/context.ts';
import { given, reconcileTable } from './reconcile-table.ts';
import type { ReconcileRow, ReconcileSetup, Reconciler } from './reconcile-table.ts';

const namespace = 'team-a';

/** A minimal controller: one pod per widget, and a status. */
function start({ client, events }: ReconcileSetup): Promise<Reconciler> {
  return Promise.resolve({
    reconcile: async (key) => {
      const found = await client.get(widgets, parseKey(key)).catch(() => undefined);
      if (found === undefined) return done;
      if (found.metadata.deletionTimestamp !== undefined) {
        await client.delete(pods, parseKey(key));
        return requeueAfter(1_000, 'waits for the pod');
      }
      try {
        await client.create(pods, pod(namespace, 'a'));
      } catch (cause) {
        throw new RetryableError('cannot create the pod', { cause });
      }
      events.record({ object: found, type: 'Normal', reason: 'Created', message: 'made pod a' });
      await client.mergePatch(widgets, parseKey(key), { status: { phase: 'Ready' } }, { subresource: 'status' });
      return done;
    },
  });
}

const one = widget(namespace, 'a');
const deleting = widget(namespace, 'a', {
  metadata: { deletionTimestamp: '2030-01-01T00:00:00Z', deletionGracePeriodSeconds: 0, finalizers: ['example.com/f'] },
});
const key = `${namespace}/a`;

const created: ReconcileRow = {
  name: 'creates the pod of a widget, records an event and reports the widget ready',
  objects: [given(widgets, one)],
  key,
  wantCreates: [{ resource: 'pods', key, body: { metadata: { name: 'a' } } }],
  wantPatches: [{ resource: 'widgets/status', key, body: { status: { phase: 'Ready' } } }],
  wantEvents: ['Normal Created: pod a'],
  verify: ({ server }) => expect(server.objects(pods)).toHaveLength(1),
};

const rows: readonly ReconcileRow[] = [
  created,
  { name: 'does nothing for a widget that does not exist', objects: [], key },
  {
    name: 'deletes the pod of a widget that is being deleted, and requeues',
    objects: [given(widgets, deleting), given(pods, pod(namespace, 'a'))],
    key,
    wantDeletes: [`pods ${key}`],
    wantResult: requeueAfter(1_000, 'waits for the pod'),
  },
  {
    name: 'retries when the server refuses the pod',
    objects: [given(widgets, one)],
    key,
    faults: (faults) => faults.failNext({ match: { resource: 'pods' }, answer: { status: 403 } }),
    wantCreates: [{ resource: 'pods', key }],
    wantResult: RetryableError,
  },
];

describe('reconcileTable', () => {
  it.each(reconcileTable({ resources: [widgets], start, rows }))('$name', ({ run }) => run());

  const wrong: readonly [what: string, row: Partial<ReconcileRow>][] = [
    ['a create that did not happen', { wantCreates: [{ resource: 'pods', key: 'team-a/b' }] }],
    ['a create that the row does not list', { wantCreates: [] }],
    ['another body', { wantPatches: [{ resource: 'widgets/status', key, body: { status: { phase: 'Failed' } } }] }],
    ['another event', { wantEvents: ['Warning Created: pod a'] }],
    ['a missing event', { wantEvents: [] }],
    ['another result', { wantResult: requeueAfter(1, 'x') }],
    ['an error instead of a result', { wantResult: RetryableError }],
    ['a missing delete', { wantDeletes: ['pods team-a/a'] }],
  ];

  it.each(wrong)('fails a row on %s', async (_what, change) => {
    const [row] = reconcileTable({ resources: [widgets], start, rows: [{ ...created, ...change }] });
    await expect(row?.run()).rejects.toThrow();
  });
});
