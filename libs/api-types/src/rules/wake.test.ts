import { describe, expect, it } from 'vitest';
import { claim, sandbox } from '../../test/index.ts';
import { findWakeObstacle } from './wake.ts';

const ID = 'a1b2c3';
const suspended = (by: string | undefined, autoResume: 'Always' | 'OnRequest' | 'Never' | undefined) =>
  sandbox({
    metadata: { annotations: by === undefined ? {} : { 'sandlot.dev/suspended-by': by } },
    spec: { operatingMode: 'Suspended', autoResume },
  });
const apiClaim = (autoResume?: 'true') =>
  claim({
    name: ID,
    metadata: {
      labels: { 'sandlot.dev/sandbox-id': ID },
      annotations: autoResume === undefined ? {} : { 'sandlot.dev/auto-resume': autoResume },
    },
  });

describe('without its claim, a request', () => {
  it.each([
    ['wakes a Sandbox suspended for idleness', 'Idle', undefined, undefined],
    ['wakes a Sandbox suspended by the startup action', 'Startup', 'OnRequest', undefined],
    ['wakes a Sandbox paused through the API', 'API', 'OnRequest', undefined],
    ['does not wake a Sandbox that its owner suspended', undefined, undefined, 'owner'],
    ['does not wake a Sandbox with a record that Sandlot does not write', 'somebody', 'OnRequest', 'owner'],
    ['wakes a Sandbox that its owner suspended where autoResume is Always', undefined, 'Always', undefined],
    ['never wakes a Sandbox whose autoResume is Never', 'Idle', 'Never', 'never'],
  ] as const)('%s', (...[, by, autoResume, expected]) => {
    expect(findWakeObstacle(suspended(by, autoResume), undefined)).toBe(expected);
  });
});

it('that comes to a Sandbox whose daemon did not answer before its pause does not wake it', () => {
  const { metadata, spec } = suspended('Idle', 'Always');
  const annotations = { ...metadata.annotations, 'sandlot.dev/unresponsive-daemon': '3' };
  const paused = (generation: number) => ({ metadata: { ...metadata, generation, annotations }, spec });
  expect([3, 4].map((generation) => findWakeObstacle(paused(generation), undefined))).toEqual(['never', undefined]);
});

describe('with its claim, a request', () => {
  it.each([
    ['wakes a paused sandbox of the API with auto-resume', 'API', undefined, apiClaim('true'), undefined],
    ['does not wake a paused sandbox of the API without auto-resume', 'API', undefined, apiClaim(), 'owner'],
    ['does not wake it either where autoResume of the Sandbox is Always', 'API', 'Always', apiClaim(), 'owner'],
    ['wakes an idle sandbox of the API without auto-resume', 'Idle', undefined, apiClaim(), undefined],
    ['never wakes a sandbox of the API whose autoResume is Never', 'API', 'Never', apiClaim('true'), 'never'],
    ['wakes a paused Sandbox of a claim that the API did not make', 'API', undefined, claim(), undefined],
  ] as const)('%s', (...[, by, autoResume, held, expected]) => {
    expect(findWakeObstacle(suspended(by, autoResume), held)).toBe(expected);
  });
});
