import type { Sandbox, SandboxClaim } from '@sandlot/api-types';
import type { CloudEvent, EventType } from '@sandlot/bus';
import { describe, expect, it } from 'vitest';
import { Books } from './books.ts';
import { checkObjects } from './check.ts';
import type { Present } from './check.ts';
import { readEvent, readRequests } from './facts.ts';

const AT = '2030-01-01T00:00:05Z';
const AT_MS = Date.parse(AT);
const MINUTE = 60_000;
const identity = { namespace: 'team-a', name: 'box', uid: 'uid-1' };

function buildEvent(type: EventType, data: object): CloudEvent {
  return { type, time: AT, data: { ...identity, ...data } } as unknown as CloudEvent;
}

function buildSandbox(status: object = {}, containers: object[] = []): Sandbox {
  const metadata = { namespace: 'team-a', name: 'box', uid: 'uid-1' };
  return { metadata, spec: { podTemplate: { spec: { containers } } }, status } as unknown as Sandbox;
}

const claim = {
  metadata: { namespace: 'team-a', name: 'job', annotations: { 'sandlot.dev/api-key-id': 'ab12' } },
  spec: {},
  status: { completionTime: AT },
} as unknown as SandboxClaim;
const condition = (type: string, status = 'True') => ({ type, status, lastTransitionTime: AT });

describe('an event', () => {
  it.each<[EventType, object, object | undefined]>([
    ['sandbox.ready', {}, { facts: [{ kind: 'on', atMs: AT_MS }], mayBeClaimed: true }],
    ['sandbox.ready', { pool: 'pool' }, { facts: [{ kind: 'on', atMs: AT_MS }], mayBeClaimed: false }],
    ['sandbox.suspended', {}, { facts: [{ kind: 'off', atMs: AT_MS }] }],
    ['sandbox.finished', {}, { facts: [{ kind: 'off', atMs: AT_MS }] }],
    ['sandbox.expired', {}, { facts: [{ kind: 'off', atMs: AT_MS }] }],
    ['sandbox.deleted', {}, { facts: [{ kind: 'deleted', atMs: AT_MS }] }],
    ['sandbox.created', {}, undefined],
    ['sandbox.wake.requested', {}, undefined],
  ])('%s of %j says %j', (type, data, expected) => {
    const about = readEvent(buildEvent(type, data));
    if (expected === undefined) expect(about).toBeUndefined();
    else expect(about).toMatchObject({ namespace: 'team-a', uid: 'uid-1', ...expected });
  });

  it('claim.bound names key and requests, and a warm Sandbox runs from then on', () => {
    const requests = { cpu: 1, memoryBytes: 5 };
    const bound = { sandbox: { name: 'box', uid: 'uid-1' }, apiKey: 'ab12', requests };
    const fact = { kind: 'bound', atMs: AT_MS, apiKey: 'ab12', requests };
    expect(readEvent(buildEvent('claim.bound', { ...bound, launchType: 'warm' }))?.facts).toEqual([
      fact,
      { kind: 'on', atMs: AT_MS },
    ]);
    expect(readEvent(buildEvent('claim.bound', { ...bound, launchType: 'cold' }))?.facts).toEqual([fact]);
  });

  it.each(['__proto__', 'a.b', 'A', 'x'.repeat(65)])('with %s for a key names none', (apiKey) => {
    const bound = buildEvent('claim.bound', { sandbox: { name: 'box', uid: 'uid-1' }, apiKey, launchType: 'cold' });
    expect(readEvent(bound)?.facts[0]).toMatchObject({ apiKey: '' });
  });

  it('of a slot whose Sandbox was gone says nothing', () => {
    const bound = buildEvent('claim.bound', { sandbox: { name: 'box', uid: '' }, launchType: 'cold' });
    expect(readEvent(bound)).toBeUndefined();
  });
});

it('all containers of a Sandbox count, with their limits where they request nothing', () => {
  const containers = [
    { name: 'a', resources: { requests: { cpu: '250m', memory: '1Gi' }, limits: { cpu: '4' } } },
    { name: 'b', resources: { limits: { cpu: '1' } } },
    { name: 'c' },
  ];
  expect(readRequests(buildSandbox({}, containers))).toEqual({ cpu: 1.25, memoryBytes: 1_073_741_824 });
});

describe('a look at the objects', () => {
  const state = { beganMs: 0, checkedMs: 0, stream: 's', sequences: {} };
  const open = (): Books => new Books({ value: state, revision: 0 });
  interface Look {
    readonly at?: number;
    readonly present?: readonly Present[];
    readonly missed?: ReadonlySet<string>;
    readonly unlisted?: readonly string[];
  }
  const look = (books: Books, { at = 0, present = [], missed = new Set(), unlisted = [] }: Look) =>
    checkObjects(books, {
      present,
      missed,
      unlisted: new Set(unlisted),
      now: { wallMs: AT_MS + at * MINUTE, monotonicMs: at * MINUTE },
    });
  const find = (books: Books) => [...books.records.values()][0]?.value;
  const running = (): Present => ({ claim, sandbox: buildSandbox({ conditions: [condition('Ready')] }) });

  it('finds a Sandbox of which no event has come', () => {
    const books = open();
    look(books, { present: [running()] });
    expect(find(books)).toMatchObject({ boundMs: AT_MS, apiKey: 'ab12', on: [AT_MS], off: [] });
  });

  it.each([
    ['is suspended', { conditions: [condition('Ready', 'False'), condition('Suspended')] }],
    ['has finished', { conditions: [condition('Ready', 'False'), condition('Finished')] }],
    ['has expired', { phase: 'Expired', conditions: [condition('Ready', 'False')] }],
  ])('finds that one %s', (_, status) => {
    const books = open();
    look(books, { present: [{ claim, sandbox: buildSandbox(status) }] });
    expect(find(books)).toMatchObject({ on: [], off: [AT_MS] });
  });

  it('leaves members of pools out', () => {
    const books = open();
    look(books, { present: [{ ...running(), claim: undefined }] });
    expect(books.records.size).toBe(0);
  });

  it('ends one that two looks do not find, at the time when it was last there', () => {
    const books = open();
    look(books, { present: [running()] });
    look(books, { at: 7, present: [running()] });
    const missed = look(books, { at: 8 });
    expect(find(books)?.goneMs).toBeUndefined();
    look(books, { at: 9, missed });
    expect(find(books)?.goneMs).toBe(AT_MS + 7 * MINUTE);
    look(books, { at: 10, present: [running()] });
    expect(find(books)?.goneMs).toBeUndefined();
  });

  it('ends none in a namespace that cannot be listed', () => {
    const books = open();
    look(books, { present: [running()] });
    const missed = look(books, { at: 1, unlisted: ['team-a'] });
    look(books, { at: 2, missed, unlisted: ['team-a'] });
    expect(find(books)?.goneMs).toBeUndefined();
  });
});
