import { claim, sandbox } from '@sandlot/api-types/testing';
import type { Sandbox, SandboxClaim } from '@sandlot/api-types';
import { formatFactName } from '@sandlot/outbox';
import { describe, expect, it } from 'vitest';
import { describeClient, findClient, findClientEnd, listClientFacts } from './client-events.ts';

const START = '2026-01-01T12:00:00Z';
const LATER = '2026-01-01T12:10:00Z';
const uid = 'uid-default-claim';
const ownerReferences = [
  { apiVersion: 'extensions.agents.x-k8s.io/v1beta1', kind: 'SandboxClaim', name: 'claim', uid, controller: true },
];

function ofClient(annotations: Record<string, string> = {}, labels: Record<string, string> = {}): SandboxClaim {
  const made = claim({ status: { completionTime: START } });
  const own = { 'sandlot.dev/sandbox-id': 'claim', ...labels };
  return { ...made, metadata: { ...made.metadata, labels: own, annotations } };
}

function own(status: Sandbox['status'] = {}): Sandbox {
  return { ...sandbox({ name: 'mine', metadata: { uid: 'uid-mine', ownerReferences } }), status };
}

const suspended = [
  { type: 'Suspended', status: 'True' as const, reason: 'Suspended', message: '', lastTransitionTime: LATER },
];
const names = (one: SandboxClaim, its: Sandbox | undefined) => listClientFacts(one, its).map(formatFactName);

describe('the state of a sandbox of the E2B API', () => {
  it.each<[string, Record<string, string>, Sandbox | undefined, string[]]>([
    ['that runs', {}, own(), []],
    ['that is suspended', {}, own({ conditions: suspended }), [`claim.suspended/${LATER}`]],
    ['that was resumed', {}, own({ resumedAt: LATER }), [`claim.resumed/${LATER}`]],
    ['whose Sandbox is gone', {}, undefined, []],
    [
      'whose end is the one it started with',
      { 'sandlot.dev/end-at': '2026-01-01T12:05:01Z', 'sandlot.dev/timeout-seconds': '300' },
      own(),
      [],
    ],
    [
      'whose end was moved',
      { 'sandlot.dev/end-at': '2026-01-01T12:20:00Z', 'sandlot.dev/timeout-seconds': '300' },
      own(),
      ['claim.extended/2026-01-01T12:20:00Z'],
    ],
  ])('%s gives the facts that E2B has', (...[, annotations, its, facts]) => {
    expect(names(ofClient(annotations), its)).toEqual(facts);
  });

  it('gives none for the claim of a build, nor for one made with kubectl', () => {
    const asleep = own({ conditions: suspended });
    expect(names(ofClient({}, { 'sandlot.dev/template-build': 'uid' }), asleep)).toEqual([]);
    expect(names(claim({ status: { completionTime: START } }), asleep)).toEqual([]);
  });

  it('carries the metadata of the client, unless that is long', () => {
    const note = (text: string) => findClient(ofClient({ 'sandlot.dev/metadata': JSON.stringify({ a: text }) }), own());
    expect(note('b')).toMatchObject({ id: 'claim', metadata: { a: 'b' }, startedAt: START });
    expect(note('b'.repeat(1_024))?.metadata).toBeUndefined();
  });
});

describe('the end of a claim', () => {
  const recorded = ['claim.bound/uid-mine'];
  const at = (nowMs: number, its: Sandbox | undefined = own()) => ({ sandbox: its, nowMs });

  it('says how long the sandbox ran, until it was suspended if it was', () => {
    const last = ofClient();
    const nowMs = Date.parse(START) + 60_000;
    const run = (its: Sandbox) => findClientEnd({ uid, last, about: undefined, recorded }, at(nowMs, its))?.data();
    expect(run(own())).toMatchObject({ cause: 'user', client: { runMs: 60_000 } });
    expect(run(own({ conditions: suspended }))).toMatchObject({ client: { runMs: 600_000 } });
  });

  it('is an expiry when its time was over', () => {
    const last = ofClient();
    const expired = { ...last, spec: { ...last.spec, lifecycle: { shutdownTime: START } } };
    const end = findClientEnd({ uid, last: expired, about: undefined, recorded }, at(Date.parse(LATER)));
    expect(end?.data()).toMatchObject({ cause: 'expiry' });
  });

  it('is known from the record if no process saw it, and is none for a claim that was never bound', () => {
    const about = describeClient(ofClient());
    const end = (facts: readonly string[]) => findClientEnd({ uid, last: undefined, about, recorded: facts }, at(0));
    expect(end(recorded)?.data()).toMatchObject({ cause: 'unknown', client: { id: 'claim' } });
    expect(end([])).toBeUndefined();
    expect(describeClient(claim())).toBeNull();
  });
});
