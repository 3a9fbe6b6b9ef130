import { describe, expect, it } from 'vitest';
import { decideOnHealth, decidePause, needsHealth, readSuspension } from './decide-pause.ts';

const STRATEGIES = {
  none: undefined,
  stop: { type: 'Stop' },
  hibernate: { type: 'Hibernate' },
  files: { type: 'Hibernate', hibernate: { contents: 'Files' } },
} as const;

const sandbox = (strategy: keyof typeof STRATEGIES) => ({
  spec: { podTemplate: { spec: { containers: [] } }, suspensionStrategy: STRATEGIES[strategy] },
});

describe('a pause', () => {
  it.each([
    ['keeps memory by default', [undefined, 'hibernate'], [true, false], 'full'],
    ['keeps memory that is asked for', [true, 'hibernate'], [true, false], 'full'],
    ['keeps no memory if the client wants none', [false, 'hibernate'], [true, false], 'filesystem'],
    ['keeps the volumes alone if that is allowed', [null, 'stop'], [true, true], 'filesystem'],
    ['is not weakened where that is not allowed', [undefined, 'stop'], [true, false], 'refused'],
    ['is not weakened without a strategy', [undefined, 'none'], [true, false], 'refused'],
    ['is never weakened for a client that asks for memory', [true, 'stop'], [true, true], 'refused'],
    ['keeps files where the template keeps no more', [undefined, 'files'], [true, true], 'filesystem'],
    ['is not weakened where the template keeps files alone', [true, 'files'], [true, true], 'refused'],
    ['does not trust a strategy that the installation cannot follow', [true, 'hibernate'], [false, true], 'refused'],
  ] as const)('%s', (...[, [memory, strategy], [hibernates, fallsBack], kind]) => {
    expect(decidePause(memory, sandbox(strategy), { hibernates, fallsBack }).kind).toBe(kind);
  });

  it.each([
    ['stop', true, 'its template does not hibernate'],
    ['files', true, 'its template keeps files alone'],
    ['hibernate', false, 'this installation does not hibernate'],
  ] as const)('that is refused says why and what to do: %s', (strategy, hibernates, why) => {
    const refused = decidePause(true, sandbox(strategy), { hibernates, fallsBack: false });
    expect(refused).toEqual({ kind: 'refused', message: `memory cannot be kept: ${why}; pause with memory=false` });
  });
});

describe('the health of the daemon', () => {
  it.each([
    ['matters before memory is saved', [undefined, undefined, 'full'], ['go', 'mark', 'go']],
    ['matters to a client that requires it', [undefined, true, 'full'], ['go', 'refuse', 'refuse']],
    ['matters where no memory is wanted', [false, undefined, 'filesystem'], ['go', 'refuse', 'go']],
    [
      'matters to a client that wants no memory and requires it',
      [false, true, 'filesystem'],
      ['go', 'refuse', 'refuse'],
    ],
    [
      'matters to a client that requires it where no memory can be kept',
      [null, true, 'filesystem'],
      ['go', 'refuse', 'refuse'],
    ],
  ] as const)('%s', (...[, [memory, requireHealthyGuest, pause], expected]) => {
    const wish = { memory, requireHealthyGuest, pause };
    expect(needsHealth(wish)).toBe(true);
    const decisions = (['healthy', 'unresponsive', 'unknown'] as const).map((health) => decideOnHealth(health, wish));
    expect(decisions).toEqual(expected);
  });

  it('does not matter where memory cannot be kept and the client does not ask for it', () => {
    expect(needsHealth({ memory: undefined, requireHealthyGuest: false, pause: 'filesystem' })).toBe(false);
  });
});

describe('a suspension', () => {
  const build = (status: 'True' | 'False', reason: string, observedGeneration = 7) => ({
    metadata: { generation: 7 },
    status: {
      conditions: [
        {
          type: 'Suspended',
          status,
          reason,
          observedGeneration,
          message: 'm',
          lastTransitionTime: '2026-01-01T00:00:00Z',
        },
      ],
    },
  });

  const wanted = (operatingMode: 'Running' | 'Suspended') => ({
    podTemplate: { spec: { containers: [] } },
    operatingMode,
  });

  it.each([
    ['has not begun', { metadata: { generation: 7 } }, 'pending'],
    ['saves memory', build('False', 'Hibernating'), 'pending'],
    ['is complete', build('True', 'PodTerminated'), 'suspended'],
    ['could not save memory, so the Pod goes on', build('False', 'HibernationFailed'), 'kept'],
    ['follows one that failed', build('False', 'HibernationFailed', 6), 'pending'],
  ])('%s', (_, object, state) => {
    expect(readSuspension({ ...object, spec: wanted('Suspended') }).state).toBe(state);
  });

  it.each([
    ['is undone by a later resume', 6, 'Running', 'undone'],
    ['is not undone by what the cache shows from before it', 7, 'Running', 'pending'],
    ['is not undone by a later change of something else', 6, 'Suspended', 'pending'],
  ] as const)('%s', (_, since, mode, state) => {
    expect(readSuspension({ metadata: { generation: 7 }, spec: wanted(mode) }, since).state).toBe(state);
  });
});
