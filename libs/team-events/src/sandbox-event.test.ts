import { toCloudEvent } from '@sandlot/bus';
import type { EventData, EventType } from '@sandlot/bus';
import { describe, expect, it } from 'vitest';
import { getSourceType, sandboxEventTypes, toSandboxEvent } from './sandbox-event.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const client = { id: 'sbx', template: 'base', metadata: { user: 'ada' } };
const claim = { namespace: 'team-a', name: 'sbx', uid: 'uid-1', client };
const ran = { ...client, startedAt: '2026-01-01T00:00:00Z', runMs: 5_000, cpuCount: 2, memoryMB: 512 };

function map<T extends EventType>(type: T, data: EventData[T], id = `uid-1/${type}/x`) {
  return toSandboxEvent(toCloudEvent({ type, id, timeMs: 1_000, data }));
}

describe('an event of a sandbox', () => {
  it.each([
    [
      'claim.bound',
      { sandbox: { name: 's', uid: 'u' }, launchType: 'warm' },
      'created',
      { sandbox_metadata: { user: 'ada' } },
    ],
    [
      'claim.extended',
      { endAt: '2026-01-01T01:00:00Z' },
      'updated',
      { sandbox_metadata: { user: 'ada' }, set_timeout: '2026-01-01T01:00:00Z' },
    ],
    ['claim.resumed', {}, 'resumed', { sandbox_metadata: { user: 'ada' } }],
  ] as const)('%s becomes the one of E2B', (...[type, more, label, eventData]) => {
    const event = map(type, { ...claim, ...more });
    expect(event).toMatchObject({
      version: 'v2',
      type: `sandbox.lifecycle.${label}`,
      eventCategory: 'sandbox',
      eventLabel: label,
      timestamp: '1970-01-01T00:00:01.000Z',
      sandboxId: 'sbx',
      sandboxTemplateId: 'base',
      eventData,
    });
    for (const id of [event?.id, event?.sandboxTeamId, event?.sandboxExecutionId, event?.sandboxBuildId])
      expect(id).toMatch(UUID);
  });

  it('says of a pause and an end how long the sandbox ran, and why it ended', () => {
    const execution = { started_at: ran.startedAt, vcpu_count: 2, memory_mb: 512, execution_time: 5_000 };
    expect(map('claim.suspended', { ...claim, client: ran })?.eventData).toEqual({
      sandbox_metadata: { user: 'ada' },
      execution,
    });
    const ends = (['user', 'expiry', 'unknown'] as const).map(
      (cause) => map('claim.deleted', { ...claim, client: ran, cause })?.eventData?.['kill_reason'],
    );
    expect(ends).toEqual(['request', 'timeout', 'unknown']);
  });

  it('has one id however often it is read, and another than every other event', () => {
    const read = (id: string) => map('claim.resumed', claim, id)?.id;
    expect(read('a')).toBe(read('a'));
    expect(read('a')).not.toBe(read('b'));
  });

  it('belongs to one run of the sandbox, from one resume to the next', () => {
    const run = (resumedAt?: string) =>
      map('claim.resumed', { ...claim, client: { ...client, resumedAt } })?.sandboxExecutionId;
    expect(run('t1')).toBe(run('t1'));
    expect(run('t1')).not.toBe(run('t2'));
    expect(run()).not.toBe(run('t1'));
  });

  it.each([
    ['of a claim that no client of E2B made', 'claim.resumed', { ...claim, client: undefined }],
    ['of a kind that E2B has not', 'claim.submitted', claim],
  ] as const)('%s is none', (_, type, data) => {
    expect(map(type, data)).toBeUndefined();
  });

  it('has a source of ours for every type', () => {
    expect(new Set(sandboxEventTypes.map(getSourceType)).size).toBe(sandboxEventTypes.length);
  });
});
