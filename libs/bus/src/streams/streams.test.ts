import { describe, expect, it } from 'vitest';
import { eventTypes } from '../events/catalogue.ts';
import { decideStream, declareStreams } from './streams.ts';
import type { StreamDeclaration } from './streams.ts';
import { formatSubject } from '../events/subjects.ts';

const [declared] = declareStreams({ replicas: 3, maxBytes: 1_000, maxAgeMs: 60_000 }) as [StreamDeclaration];

describe('declareStreams', () => {
  it('keeps events for seven days in files, drops the oldest, and dedupes for two minutes', () => {
    expect(declareStreams()[0]).toMatchObject({
      name: 'SANDLOT_EVENTS',
      storage: 'file',
      retention: 'limits',
      discard: 'old',
      num_replicas: 1,
      max_age: 7 * 24 * 3_600 * 1e9,
      duplicate_window: 120 * 1e9,
    });
  });

  it('gets dead letters from the server itself and keeps them as long as events', () => {
    expect(declareStreams({ maxAgeMs: 60_000 })[1]).toMatchObject({
      name: 'SANDLOT_DEAD_LETTERS',
      max_age: 60e9,
      subjects: [
        '$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.SANDLOT_EVENTS.>',
        '$JS.EVENT.ADVISORY.CONSUMER.MSG_TERMINATED.SANDLOT_EVENTS.>',
      ],
    });
  });

  it('keeps the last record of each object for ever, in a bucket per name', () => {
    expect(declareStreams({ replicas: 3 }, ['pools']).slice(2)).toMatchObject([
      {
        name: 'KV_SANDLOT_POOLS',
        subjects: ['$KV.SANDLOT_POOLS.>'],
        max_age: 0,
        max_msgs_per_subject: 1,
        num_replicas: 3,
      },
    ]);
  });

  it.each([
    ['as it is', 7 * 24 * 3_600_000, 120e9],
    ['no longer than the retention', 60_000, 60e9],
  ])('has a window for repetitions %s', (_, maxAgeMs, window) => {
    const [events, letters] = declareStreams({ maxAgeMs });
    expect([events?.duplicate_window, letters?.duplicate_window]).toEqual([window, window]);
  });

  it('stores every event of the catalogue in exactly one stream', () => {
    const patterns = declareStreams().flatMap((stream) => stream.subjects);
    const regexes = patterns.map((p) => new RegExp(`^${p.replace('>', '.+').replaceAll('.*.', '\\.[^.]+\\.')}$`));
    for (const type of eventTypes) {
      expect(regexes.filter((regex) => regex.test(formatSubject(type, 'team-a')))).toHaveLength(1);
    }
  });
});

describe('decideStream', () => {
  it.each([
    ['creates a stream that is missing', undefined, { kind: 'create' }],
    ['keeps one that is as declared', declared, { kind: 'keep' }],
    ['ignores the order of subjects', { ...declared, subjects: [...declared.subjects].reverse() }, { kind: 'keep' }],
    ['corrects a limit', { ...declared, max_age: 1 }, { kind: 'update', fields: ['max_age'], fixed: [] }],
    ['corrects replicas', { ...declared, num_replicas: 1 }, { kind: 'update', fields: ['num_replicas'], fixed: [] }],
    [
      'corrects subjects',
      { ...declared, subjects: ['sandlot.>'] },
      { kind: 'update', fields: ['subjects'], fixed: [] },
    ],
    [
      'leaves memory storage to a person',
      { ...declared, storage: 'memory' },
      { kind: 'update', fields: [], fixed: ['storage'] },
    ],
    [
      'changes what can be changed beside what cannot',
      { ...declared, retention: 'workqueue', max_age: 1 },
      { kind: 'update', fields: ['max_age'], fixed: ['retention'] },
    ],
  ])('%s', (_name, actual, step) => {
    expect(decideStream(declared, actual as StreamDeclaration | undefined)).toEqual(step);
  });
});
