import { switchOffPacing } from '@sandlot/pacing';
import { FakeClock } from '@sandlot/std/testing';
import { describe, expect, it } from 'vitest';
import type { KubeClient } from '../client/types.ts';
import { KubeError } from '../errors.ts';
import { noMetrics } from '../metrics.ts';
import type { JsonObject, KubeObject, ObjectKey } from '../objects/object.ts';
import { createEventRecorder } from './recorder.ts';
import type { EventInput, EventRecorder } from './recorder.ts';
import type { Event } from '../objects/resources.ts';

interface Setup {
  readonly clock: FakeClock;
  readonly recorder: EventRecorder;
  /** The events on the server by name. */
  readonly written: Map<string, Event>;
  readonly writes: string[];
  readonly dropped: string[];
  /** When true, the server refuses writes. */
  refuse: boolean;
}

function setup(): Setup {
  const clock = new FakeClock();
  const result = {
    clock,
    written: new Map<string, Event>(),
    writes: [] as string[],
    dropped: [] as string[],
    refuse: false,
  };
  const answer = (verb: string, event: Event): Promise<Event> => {
    if (result.refuse) {
      const error = { verb: 'create', resource: 'events', key: '', message: 'no', code: 'Forbidden' } as const;
      return Promise.reject(new KubeError(error));
    }
    result.writes.push(verb);
    result.written.set(event.metadata.name ?? '', event);
    return Promise.resolve(event);
  };
  const surface = {
    create: (_: unknown, event: Event) => answer('create', event),
    mergePatch: (...[, { name }, patch]: [unknown, ObjectKey, JsonObject]) =>
      answer('patch', { ...result.written.get(name)!, ...(patch as Partial<Event>) }),
  };
  const metrics = { ...noMetrics, countDroppedEvent: (reason: string) => void result.dropped.push(reason) };
  const client = surface as unknown as KubeClient;
  let serial = 0;
  const random = (): number => (serial += 1) / 2 ** 48;
  const recorder = createEventRecorder({ client, controller: 'test', instance: 'pod-1', clock, random, metrics });
  return Object.assign(result, { recorder });
}

const claim = (name = 'c', uid = 'uid'): KubeObject => ({
  apiVersion: 'example.com/v1',
  kind: 'Claim',
  metadata: { namespace: 'ns', name, uid, resourceVersion: '7' },
});

const boundEvent = (more: Partial<EventInput> = {}): EventInput => ({
  object: claim(),
  type: 'Normal',
  reason: 'Bound',
  message: 'got s-1',
  ...more,
});

const counts = ({ written }: Setup): (number | undefined)[] =>
  [...written.values()].map((event) => event.series?.count);

describe('event recorder', () => {
  it('writes an event with all required fields', async () => {
    const t = setup();
    t.recorder.record(
      boundEvent({ related: { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p', namespace: 'ns' } } }),
    );
    await t.clock.advance(0);
    expect([...t.written.values()]).toEqual([
      {
        metadata: { namespace: 'ns', name: 'c.000000000001' },
        eventTime: '2030-01-01T00:00:00.000000Z',
        type: 'Normal',
        reason: 'Bound',
        action: 'Bound',
        note: 'got s-1',
        regarding: {
          apiVersion: 'example.com/v1',
          kind: 'Claim',
          namespace: 'ns',
          name: 'c',
          uid: 'uid',
          resourceVersion: '7',
        },
        related: { apiVersion: 'v1', kind: 'Pod', namespace: 'ns', name: 'p' },
        reportingController: 'test',
        reportingInstance: 'pod-1',
      },
    ]);
  });

  it.each<[string, EventInput, Partial<Event>]>([
    ['truncates a long message', boundEvent({ message: 'x'.repeat(2_000) }), { note: 'x'.repeat(1_024) }],
    ['uses the given action', boundEvent({ action: 'Adopting' }), { action: 'Adopting' }],
    [
      'creates events of cluster-scoped objects in the default namespace',
      boundEvent({ object: { metadata: { name: 'n' } } }),
      { metadata: { namespace: 'default', name: 'n.000000000001' } },
    ],
  ])('%s', async (...[, input, expected]) => {
    const t = setup();
    t.recorder.record(input);
    await t.clock.advance(0);
    expect([...t.written.values()]).toMatchObject([expected]);
  });

  it('combines repetitions into one series and writes it at most every ten seconds', async () => {
    const t = setup();
    t.recorder.record(boundEvent());
    await t.clock.advance(100);
    for (let n = 0; n < 5; n++) t.recorder.record(boundEvent());
    await t.clock.advance(9_999);
    expect(t.writes).toEqual(['create']);
    await t.clock.advance(1);
    expect([t.writes, counts(t)]).toEqual([['create', 'patch'], [6]]);
    t.recorder.record(boundEvent());
    await t.clock.advance(10_000);
    expect([t.writes, counts(t)]).toEqual([['create', 'patch', 'patch'], [7]]);
    expect([...t.written.values()][0]?.series?.lastObservedTime).toBe('2030-01-01T00:00:10.100000Z');
  });

  it.each<[string, Partial<EventInput>]>([
    ['another object', { object: claim('d') }],
    ['another object of the same name', { object: claim('c', 'other') }],
    ['another reason', { reason: 'Expired' }],
    ['another message', { message: 'got s-2' }],
    ['another type', { type: 'Warning' }],
  ])('creates a separate event for %s', async (_, more) => {
    const t = setup();
    t.recorder.record(boundEvent());
    t.recorder.record(boundEvent(more));
    await t.clock.advance(20_000);
    expect(counts(t)).toEqual([undefined, undefined]);
  });

  it('begins a new event when a series had no repetition for six minutes', async () => {
    const t = setup();
    t.recorder.record(boundEvent());
    await t.clock.advance(360_000);
    t.recorder.record(boundEvent());
    await t.clock.advance(0);
    expect(counts(t)).toEqual([undefined, undefined]);
  });

  it('spreads a burst of events over time', async () => {
    const t = setup();
    for (let n = 0; n < 100; n++) t.recorder.record(boundEvent({ object: claim(`c${n}`) }));
    await t.clock.advance(0);
    expect(t.writes).toHaveLength(50);
    await t.clock.advance(1_000);
    expect(t.writes).toHaveLength(60);
    await t.clock.advance(4_000);
    expect(t.writes).toHaveLength(100);
  });

  it('leaves out routine events that would come late, and writes others at once all the same', async () => {
    const t = setup();
    for (let n = 0; n < 200; n++) t.recorder.record(boundEvent({ object: claim(`c${n}`), isRoutine: true }));
    await t.clock.advance(0);
    expect(t.writes).toHaveLength(50);
    expect(t.dropped).toEqual(Array.from({ length: 110 }, () => 'routine'));
    t.recorder.record(boundEvent({ type: 'Warning', reason: 'Broken' }));
    await t.clock.advance(0);
    expect(t.writes).toHaveLength(51);
    await t.clock.advance(20_000);
    expect(t.writes).toHaveLength(91);
    t.recorder.record(boundEvent({ object: claim('later'), isRoutine: true }));
    await t.clock.advance(1_000);
    expect(t.writes).toHaveLength(92);
  });

  it('writes a burst of 1,000 events at once without pacing.events, instead of 50', async () => {
    using _ = switchOffPacing('events');
    const t = setup();
    for (let n = 0; n < 1_000; n++) t.recorder.record(boundEvent({ object: claim(`c${n}`) }));
    await t.clock.advance(0);
    expect(t.writes).toHaveLength(1_000);
  });

  it.each([
    ['twice with pacing.eventSeries', '', 2],
    ['600 times without it', 'eventSeries', 600],
  ] as const)('writes an event that repeats every 10 ms for 6 s %s', async (_, off, wanted) => {
    using _off = switchOffPacing(`events,${off}`);
    const t = setup();
    for (let n = 0; n < 600; n++) {
      t.recorder.record(boundEvent());
      await t.clock.advance(10);
    }
    await t.clock.advance(10_000);
    expect(t.writes).toHaveLength(wanted);
  });

  it('drops and counts events beyond its limit of series', async () => {
    const t = setup();
    for (let n = 0; n < 2_003; n++) t.recorder.record(boundEvent({ object: claim(`c${n}`) }));
    expect(t.dropped).toEqual(['overflow', 'overflow', 'overflow']);
    await t.clock.advance(360_000);
    t.recorder.record(boundEvent({ object: claim('later') }));
    expect(t.dropped).toHaveLength(3);
  });

  it('drops and counts an event that the server refuses, and writes the next one', async () => {
    const t = setup();
    t.refuse = true;
    t.recorder.record(boundEvent());
    await t.clock.advance(0);
    expect(t.dropped).toEqual(['Forbidden']);
    t.refuse = false;
    t.recorder.record(boundEvent());
    await t.clock.advance(0);
    expect(counts(t)).toEqual([undefined]);
  });

  it('writes waiting events when flushed', async () => {
    const t = setup();
    t.recorder.record(boundEvent());
    await t.clock.advance(0);
    t.recorder.record(boundEvent());
    for (let n = 0; n < 80; n++) t.recorder.record(boundEvent({ object: claim(`c${n}`) }));
    await t.recorder.flush();
    expect(t.written.size).toBe(81);
    expect(counts(t)[0]).toBe(2);
  });
});
