import { describe, expect, it } from 'vitest';
import { sandbox } from '../../test/index.ts';
import {
  buildUnresponsiveNote,
  getModeSpelling,
  getSuspender,
  hasUnresponsiveDaemon,
  resumePatch,
  suspendPatch,
} from './suspension.ts';

const guard = { uid: 'uid-default-sandbox', resourceVersion: '1' };

describe('the spelling of the mode', () => {
  it.each([
    ['is replicas where the spec has replicas', { replicas: 1 }, undefined, 'replicas'],
    ['is operatingMode where the spec has operatingMode', { operatingMode: 'Running' }, 'replicas', 'operatingMode'],
    ['is operatingMode where the spec has neither', {}, undefined, 'operatingMode'],
    ['is that of the author where the spec has neither and the author is known', {}, 'replicas', 'replicas'],
  ] as const)('%s', (...[, spec, unset, expected]) => {
    expect(getModeSpelling(spec, unset)).toBe(expected);
  });
});

describe('a suspension', () => {
  it.each([
    ['operatingMode', { operatingMode: 'Suspended' }],
    ['replicas', { replicas: 0 }],
  ] as const)('spelled %s edits the guarded spec and records who asked', (spelling, spec) => {
    expect(suspendPatch(sandbox(), { by: 'Idle', spelling })).toEqual({
      metadata: { ...guard, annotations: { 'sandlot.dev/suspended-by': 'Idle' } },
      spec,
    });
  });
});

describe('a resume', () => {
  it.each([
    ['operatingMode', { operatingMode: 'Running' }],
    ['replicas', { replicas: 1 }],
  ] as const)('spelled %s edits the guarded spec and removes the record', (spelling, spec) => {
    expect(resumePatch(sandbox(), { spelling })).toEqual({
      metadata: { ...guard, annotations: { 'sandlot.dev/suspended-by': null } },
      spec,
    });
  });

  it('carries the trace context of the request that wakes the Sandbox', () => {
    expect(resumePatch(sandbox(), { spelling: 'operatingMode', trace: '{}' })).toMatchObject({
      metadata: { annotations: { 'sandlot.dev/suspended-by': null, 'opentelemetry.io/trace-context': '{}' } },
    });
  });
});

describe('the suspender', () => {
  it.each([
    ['the user without a record', undefined, 'User'],
    ['the recorded one', 'Startup', 'Startup'],
    ['the user where the record is not one of Sandlot', 'somebody', 'User'],
  ] as const)('is %s', (_, recorded, expected) => {
    const annotations = recorded === undefined ? {} : { 'sandlot.dev/suspended-by': recorded };
    expect(getSuspender(sandbox({ metadata: { annotations } }))).toBe(expected);
  });
});

describe('the note of a daemon that does not answer', () => {
  it('counts for the suspension that it comes with, and for no edit of the spec after it', () => {
    const annotations = buildUnresponsiveNote(sandbox({ metadata: { generation: 4 } }));
    const counts = (generation: number) => hasUnresponsiveDaemon({ metadata: { generation, annotations } });
    expect([4, 5, 6].map(counts)).toEqual([false, true, false]);
    expect(hasUnresponsiveDaemon({ metadata: { generation: 5 } })).toBe(false);
  });
});
