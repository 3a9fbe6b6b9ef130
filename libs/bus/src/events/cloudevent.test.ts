import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { eventTypes } from './catalogue.ts';
import { formatEventId, parseCloudEvent, toCloudEvent } from './cloudevent.ts';
import type { OutgoingEvent } from './cloudevent.ts';

const bound: OutgoingEvent<'claim.bound'> = {
  type: 'claim.bound',
  id: formatEventId({ uid: 'u-1', type: 'claim.bound', marker: 3 }),
  timeMs: Date.UTC(2030, 0, 2, 3, 4, 5, 6),
  data: {
    namespace: 'team-a',
    name: 'job-7',
    uid: 'u-1',
    pool: 'python',
    sandbox: { name: 'python-x1', uid: 'u-2' },
    launchType: 'warm',
  },
};
const trace = { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01', tracestate: 'a=b' };
const wire = (change: object = {}): string => JSON.stringify({ ...toCloudEvent(bound, trace), ...change });

describe('formatEventId', () => {
  it('is the same for every publisher of one transition', () => {
    const transition = { uid: 'u-1', type: 'claim.bound', marker: '2030-01-01T00:00:00Z' } as const;
    expect(formatEventId(transition)).toBe('u-1/claim.bound/2030-01-01T00%3A00%3A00Z');
    expect(formatEventId({ ...transition })).toBe(formatEventId(transition));
  });

  it('differs whenever object, type or marker differ, and fits into a header', () => {
    const part = fc.string({ unit: 'grapheme' }).filter((text) => text.isWellFormed());
    const transition = fc.record({ uid: part, type: fc.constantFrom(...eventTypes), marker: part });
    fc.assert(
      fc.property(transition, transition, (a, b) => {
        expect(formatEventId(a) === formatEventId(b)).toBe(JSON.stringify(a) === JSON.stringify(b));
        expect(formatEventId(a)).toMatch(/^[\x21-\x7e]+$/);
      }),
    );
  });
});

describe('toCloudEvent', () => {
  it('fills the envelope from the object, so that source and id identify the transition', () => {
    expect(toCloudEvent(bound, trace)).toEqual({
      specversion: '1.0',
      id: 'u-1/claim.bound/3',
      source: '/sandlot/namespaces/team-a',
      type: 'claim.bound',
      subject: 'claim/job-7',
      time: '2030-01-02T03:04:05.006Z',
      datacontenttype: 'application/json',
      dataschema: 'https://sandlot.dev/events/v1/claim.bound.json',
      ...trace,
      data: bound.data,
    });
  });

  it('has no trace fields outside of a trace', () => {
    expect(Object.keys(toCloudEvent(bound))).not.toContain('traceparent');
  });
});

describe('parseCloudEvent', () => {
  it('parses what was published', () => {
    expect(parseCloudEvent('claim.bound', wire())).toEqual(toCloudEvent(bound, trace));
  });

  it('drops unknown fields, which a newer publisher may send', () => {
    const newer = wire({ extra: 1, data: { ...bound.data, extra: 1 } });
    expect(parseCloudEvent('claim.bound', newer)).toEqual(toCloudEvent(bound, trace));
  });

  it.each([
    ['no JSON', '{'],
    ['not an object', '3'],
    ['another version of CloudEvents', wire({ specversion: '0.3' })],
    ['another type', wire({ type: 'claim.failed' })],
    ['a type that does not exist', wire({ type: 'claim.lost' })],
    ['no id', wire({ id: '' })],
    ['a time that is none', wire({ time: 'yesterday' })],
    ['data of another event', wire({ data: { namespace: 'a', name: 'b', uid: 'c' } })],
  ])('refuses %s', (_what, json) => {
    expect(parseCloudEvent('claim.bound', json)).toBeUndefined();
  });
});
