import { annotations } from '@sandlot/api-types';
import type { Condition, Sandbox } from '@sandlot/api-types';
import { describe, expect, it } from 'vitest';
import { buildBegun, buildSleeper } from '../../test/hibernations.ts';
import { decide } from './decide.ts';
import type { View } from './decide.ts';

const CALM = { isUnused: false, wasWoken: true, isHurried: false, isLate: false };
const asleep = buildSleeper('a');
const awake = buildBegun('a', 'Idle');
const recorded = buildSleeper('a', { [annotations.refresh]: 'Idle' });
const withoutRecord: Sandbox = { ...awake, metadata: { ...awake.metadata, annotations: {} } };

const withCondition = (sandbox: Sandbox, change: Partial<Condition>): Sandbox => ({
  ...sandbox,
  status: { ...sandbox.status, conditions: (sandbox.status?.conditions ?? []).map((one) => ({ ...one, ...change })) },
});
const suspending = withCondition(asleep, { status: 'False', reason: 'Hibernating' });
const failed = withCondition(asleep, { status: 'False', reason: 'HibernationFailed', message: 'the disk is full' });

const rows: readonly (readonly [string, Partial<View> & Pick<View, 'sandbox'>, object])[] = [
  ['is woken', { sandbox: asleep, wasWoken: false }, { kind: 'wake' }],
  [
    'is left asleep once the run is to stop',
    { sandbox: asleep, wasWoken: false, isHurried: true },
    { how: 'untouched' },
  ],
  ['is waited for until it is Ready', { sandbox: withCondition(awake, { status: 'False' }) }, { kind: 'wait' }],
  [
    'is waited for until it shows the wake',
    { sandbox: withCondition(awake, { observedGeneration: 0 }) },
    { kind: 'wait' },
  ],
  ['is waited for until what was saved is used up', { sandbox: awake, isUnused: true }, { kind: 'wait' }],
  ['is suspended once it goes on', { sandbox: awake }, { kind: 'sleep' }],
  ['is suspended at once when the run stops', { sandbox: awake, isUnused: true, isHurried: true }, { kind: 'sleep' }],
  ['is waited for until it is suspended', { sandbox: suspending, isHurried: true }, { kind: 'wait' }],
  ['is not waited for without end', { sandbox: suspending, isHurried: true, isLate: true }, { how: 'failed' }],
  ['has a problem if its save fails', { sandbox: failed }, { how: 'failed', why: 'the disk is full' }],
  ['is done once it sleeps', { sandbox: asleep }, { kind: 'end', how: 'asleep' }],
  ['loses the record if someone else suspended it', { sandbox: recorded }, { kind: 'forget' }],
  ['is left alone if a client woke it first', { sandbox: withoutRecord, wasWoken: false }, { how: 'left' }],
  ['is left alone if a client woke it afterwards', { sandbox: withoutRecord }, { how: 'left' }],
  ['is left alone if it is gone', { sandbox: undefined }, { how: 'left', why: 'the Sandbox was deleted' }],
];

describe('a Sandbox', () => {
  it.each(rows)('%s', (_, view, step) => {
    expect(decide({ ...CALM, ...view })).toMatchObject(step);
  });
});
