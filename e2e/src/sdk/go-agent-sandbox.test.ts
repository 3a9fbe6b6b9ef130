import { sandboxClaims, sandboxes } from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';
import { isNotFound, pods } from '@sandlot/kube';
import type { Pod } from '@sandlot/kube';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { waitForFullPool } from '../support/sandboxes.ts';
import { createAccount } from '../support/sdk/account.ts';
import { CLIENT_OBJECTS, CLIENT_POOL } from '../support/sdk/client-objects.ts';
import { runGoClient } from '../support/sdk/go-client.ts';
import type { GoReport } from '../support/sdk/go-client.ts';
import { createTeam, eventually } from '../support/team.ts';
import type { Team } from '../support/team.ts';
import { Trace } from '../support/traces.ts';

const identity = z.object({
  claim: z.string(),
  sandbox: z.string(),
  pod: z.string(),
  podIP: z.string(),
  annotations: z.record(z.string(), z.string()),
  ready: z.boolean(),
});
const names = z.array(z.string());
const result = z.object({ stdout: z.string(), stderr: z.string(), exit_code: z.number() });
const entries = z.array(z.object({ name: z.string(), size: z.number(), type: z.string(), mod_time: z.number() }));

let team: Team;
let report: GoReport;
let kept: z.infer<typeof identity>;
let sandbox: Sandbox;
let pod: Pod;
beforeAll(async () => {
  team = await createTeam('go-client');
  await team.apply(CLIENT_OBJECTS);
  const token = await createAccount(team.namespace);
  await waitForFullPool(team, CLIENT_POOL);
  report = await runGoClient({ namespace: team.namespace, pool: CLIENT_POOL, token });
  kept = report.get('create', identity);
  const { namespace, client } = team;
  const claim = await client.get(sandboxClaims, { namespace, name: kept.claim });
  sandbox = await client.get(sandboxes, { namespace, name: claim.status?.sandbox?.name ?? '' });
  const all = await client.listAll(pods, { namespace });
  const mine = all.items.filter(({ metadata }) =>
    metadata.ownerReferences?.some(({ uid }) => uid === sandbox.metadata.uid),
  );
  expect(mine).toHaveLength(1);
  pod = mine[0] as Pod;
});
afterAll(() => team[Symbol.asyncDispose]());

/** Waits until a claim is gone. */
const waitUntilGone = (name: string): Promise<unknown> =>
  eventually(`claim ${name} is gone`, async () => {
    const found = team.client.get(sandboxClaims, { namespace: team.namespace, name });
    return found.then(
      () => undefined,
      (error: unknown) => isNotFound(error) || undefined,
    );
  });

describe('the client for Go of agent-sandbox', () => {
  it('creates a sandbox from a pool', async () => {
    const { namespace, client } = team;
    const claim = await client.get(sandboxClaims, { namespace, name: kept.claim });
    expect(kept.claim).toMatch(/^sandbox-claim-/);
    expect(claim.spec).toMatchObject({ warmPoolRef: { name: CLIENT_POOL } });
    expect(kept.ready).toBe(true);
  });

  it('names the Sandbox and its Pod as the cluster does', () => {
    expect(kept.sandbox).toBe(sandbox.metadata.name);
    expect(kept.pod).toBe(pod.metadata.name);
    expect(kept.podIP).toBe(pod.status?.podIP);
    expect(kept.podIP).not.toBe('');
    expect(sandbox.metadata.annotations).toMatchObject(kept.annotations);
    expect(kept.annotations).toMatchObject({ 'agents.x-k8s.io/pod-name': pod.metadata.name });
  });

  it('runs commands', async () => {
    const { short, long } = report.get('run', z.object({ short: result, long: result }));
    expect(short).toEqual({ stdout: 'out\n', stderr: 'err\n', exit_code: 3 });
    expect(long).toEqual({ stdout: `${await team.sh(kept.pod, 'hostname')}\n`, stderr: '', exit_code: 0 });
  });

  it('writes, reads and lists files, and says which exist', async () => {
    const shape = z.object({
      plain: z.string(),
      nested: z.string(),
      entries,
      below: entries,
      there: z.boolean(),
      absent: z.boolean(),
    });
    const seen = report.get('files', shape);
    expect(Buffer.from(seen.plain, 'base64')).toEqual(Buffer.from('\0bytes'));
    expect(seen.nested).toBe('nested');
    expect(seen.entries.map(({ name, type }) => [name, type]).toSorted()).toEqual([
      ['a file.txt', 'file'],
      ['dir', 'directory'],
      ['plain.bin', 'file'],
    ]);
    expect(seen.below).toMatchObject([{ name: 'a file.txt', size: 6, type: 'file' }]);
    expect([seen.there, seen.absent]).toEqual([true, false]);
    expect(await team.sh(kept.pod, 'cat "/data/a file.txt"')).toBe('text');
  });

  it('attaches to a sandbox of another client', () => {
    const shape = identity.extend({ content: z.string(), active: names });
    const seen = report.get('attach', shape);
    expect(seen).toMatchObject({ ...kept, content: 'text', active: [kept.claim] });
  });

  it('is refused without a token', () => {
    expect(report.get('no token', z.object({ status: z.number() }))).toEqual({ status: 401 });
  });

  it('ends a command at its time limit, and makes as many attempts as it may', () => {
    const shape = z.object({ exhausted: z.number(), attempts: z.number(), output: z.string() });
    expect(report.get('limits', shape)).toEqual({ exhausted: 2, attempts: 3, output: 'third\n' });
  });

  it('disconnects and opens the same sandbox again', () => {
    const shape = z.object({ ready: z.boolean(), active: names, again: identity, content: z.string() });
    const seen = report.get('reconnect', shape);
    expect(seen).toMatchObject({ ready: false, active: [], again: kept, content: 'text' });
  });

  it('opens a sandbox that no client tracks, and closes it', async () => {
    const shape = z.object({ before: z.boolean(), opened: identity, uid: z.string(), after: z.boolean() });
    const { before, opened, uid, after } = report.get('open and close', shape);
    expect([before, opened.ready, after]).toEqual([false, true, false]);
    expect(uid).not.toBe('');
    expect(opened.sandbox).not.toBe(kept.sandbox);
    await waitUntilGone(opened.claim);
  });

  it('lists sandboxes and deletes them', async () => {
    const shape = z.object({ one: z.string(), two: z.string(), active: names, all: names, left: names, end: names });
    const { one, two, ...lists } = report.get('list and delete', shape.extend({ output: z.string() }));
    expect(lists.active).toEqual([one, two].toSorted());
    expect(lists.all).toEqual(expect.arrayContaining([kept.claim, one, two]));
    expect(lists).toMatchObject({ left: [two], output: 'on\n', end: [] });
    await waitUntilGone(one);
    await waitUntilGone(two);
  });

  it('traces what it does, in one trace with what Sandlot does', async () => {
    const shape = z.object({ services: names, spans: names, traces: names });
    const { services, spans, traces } = report.get('traces', shape);
    expect(services).toEqual(['sandlot-go-client']);
    const prefixed = ['create_claim', 'lifecycle', 'run', 'write'].map((name) => `sandbox-client.${name}`);
    expect(spans).toEqual(expect.arrayContaining(prefixed));
    const { namespace, client } = team;
    const { metadata } = await client.get(sandboxClaims, { namespace, name: kept.claim });
    const context = metadata.annotations?.['opentelemetry.io/trace-context'] ?? '';
    const traceId = context.split('-')[1] ?? '';
    expect(traces).toContain(traceId);
    await Trace.waitFor(traceId, ['claim.create', 'claim.bind']);
  });

  it('deletes its sandboxes when a signal ends its process', async () => {
    const { claim, uid } = report.get('clean up', z.object({ claim: z.string(), uid: z.string() }));
    expect(uid).not.toBe('');
    await waitUntilGone(claim);
  });

  it('leaves the sandboxes of other clients', async () => {
    const { items } = await team.client.listAll(sandboxClaims, { namespace: team.namespace });
    expect(items.map(({ metadata }) => metadata.name)).toEqual([kept.claim]);
    expect(pod.metadata.deletionTimestamp).toBeUndefined();
  });
});
