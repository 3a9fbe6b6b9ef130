import { labels } from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';
import { describe, expect, it } from 'vitest';
import { buildSnapshot, notebook } from '../../test/builders.ts';
import { HIBERNATE, podOf, sleeper } from '../../test/hibernations.ts';
import type { Drain } from '../plan/snapshot.ts';
import { findMemoryState } from './protection.ts';

const DRAIN: Drain = { hasTurn: true, needsUpload: false };
const on = { drainEnabled: true };
const member = { metadata: { labels: { [labels.warmPoolMember]: 'x' } }, spec: HIBERNATE };
const tolerant = sleeper({ podTemplate: { spec: { containers: [], tolerations: [{ operator: 'Exists' }] } } });
const unsaved = podOf('pod-1', { labels: { [labels.memory]: 'unsaved' } });

describe('evictions of a Pod', () => {
  it.each<readonly [string, Sandbox, object, string | undefined]>([
    ['wait when its Sandbox hibernates', sleeper(), on, 'protected'],
    ['do not wait when it stops', notebook(), on, undefined],
    ['do not wait for a member of a pool', notebook(member), on, undefined],
    ['do not wait for a Pod that may go to the same node again', tolerant, on, undefined],
    ['do not wait when the installation does not move Sandboxes', sleeper(), { drainEnabled: false }, undefined],
  ])('%s', (...[, sandbox, settings, expected]) => {
    expect(findMemoryState(buildSnapshot({ sandbox, settings }))).toBe(expected);
  });

  it('no longer wait once its memory was given up, for as long as its node is being emptied', () => {
    const emptied = buildSnapshot({ sandbox: sleeper(), settings: on, drain: DRAIN });
    expect(findMemoryState(emptied, unsaved)).toBe('unsaved');
    expect(findMemoryState({ ...emptied, drain: undefined }, unsaved)).toBe('protected');
    expect(findMemoryState(emptied, podOf('pod-1'))).toBe('protected');
  });
});
