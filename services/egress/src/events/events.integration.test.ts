import { annotations, labels } from '@sandlot/api-types';
import { events, secrets } from '@sandlot/kube';
import type { Event } from '@sandlot/kube';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { closed, EgressStack, LISTED, OTHER, PATIENCE, TEAM } from '../../test/stack.ts';

const VALUE = 'hunter2-5d1c';
let stack: EgressStack;
beforeAll(async () => {
  stack = await EgressStack.start();
});
afterAll(() => stack[Symbol.asyncDispose]());

async function listEvents(claim: string, reason: string): Promise<readonly Event[]> {
  const { items } = await stack.client.listAll(events, { namespace: TEAM });
  return items.filter((event) => event.reason === reason && event.regarding.name === claim);
}

async function listNotes(claim: string, reason: string): Promise<readonly string[]> {
  return (await listEvents(claim, reason)).map(({ note = '' }) => note).toSorted();
}

describe('a sandbox that is refused names', () => {
  it('has a Warning for each on its claim, and one for all beyond ten', async () => {
    const uid = await stack.claim('curious', '127.0.52.31', { network: closed(LISTED) });
    await stack.expectAnswers('127.0.52.31', { [LISTED]: stack.proxy });
    for (let time = 0; time < 3; time += 1) await stack.plane.ask('127.0.52.31', OTHER);
    const see = 'see all with: npx sandlot egress curious';
    const first = `The egress proxy refused ${OTHER} (dns): not_listed; ${see}`;
    await vi.waitFor(async () => expect(await listNotes('curious', 'EgressDenied')).toEqual([first]), PATIENCE);
    const [event] = await listEvents('curious', 'EgressDenied');
    expect(event).toMatchObject({
      type: 'Warning',
      regarding: { apiVersion: 'extensions.agents.x-k8s.io/v1beta1', kind: 'SandboxClaim', namespace: TEAM, uid },
      reportingController: 'sandlot.dev/egress',
    });
    for (let index = 0; index < 30; index += 1) await stack.plane.ask('127.0.52.31', `host-${index}.example.com`);
    const more = `The egress proxy refused more destinations than are shown in ten minutes; ${see}`;
    await vi.waitFor(async () => expect(await listNotes('curious', 'EgressDenied')).toContain(more), PATIENCE);
    await stack.plane.ask('127.0.52.31', 'last.example.com');
    await vi.waitFor(async () => {
      const [, body] = await stack.readReport(`refusals/${TEAM}/${uid}`);
      expect(JSON.stringify(body)).toContain('last.example.com');
    }, PATIENCE);
    expect(await listNotes('curious', 'EgressDenied')).toHaveLength(11);
  });

  it('has none for what an observed list would have refused', async () => {
    const network = JSON.stringify({ observe: true, denyOut: ['0.0.0.0/0'], allowOut: [LISTED] });
    const uid = await stack.claim('observed', '127.0.52.32', { network });
    await stack.expectAnswers('127.0.52.32', { [OTHER]: stack.proxy });
    await stack.plane.ask('127.0.52.32', 'printer.local');
    await vi.waitFor(
      async () => expect(await listNotes('observed', 'EgressDenied')).toEqual([expect.stringContaining('reserved')]),
      PATIENCE,
    );
    expect((await stack.readReport(`refusals/${TEAM}/${uid}`))[0]).toBe(200);
  });
});

describe('a header of a rule without a value', () => {
  const network = JSON.stringify({
    rules: [
      {
        host: LISTED,
        headers: [{ name: 'Authorization', valueFrom: { secretKeyRef: { name: 'model-key', key: 'token' } } }],
      },
    ],
  });

  it('has a Warning on the claim that says what to do, and never a value', async () => {
    await stack.client.create(secrets, {
      metadata: {
        namespace: TEAM,
        name: 'model-key',
        labels: { [labels.egressCredential]: 'true' },
        annotations: { [annotations.egressHosts]: 'other.example.org' },
      },
      data: { token: Buffer.from(VALUE).toString('base64') },
    });
    await stack.claim('keyless', '127.0.52.33', { network });
    await vi.waitFor(
      async () =>
        expect(await listNotes('keyless', 'EgressCredentialMissing')).toEqual([
          `Requests to ${LISTED} fail, because header Authorization has no value: Secret "model-key", of which the rule uses the key "token", does not list the host; add ${LISTED} to its annotation sandlot.dev/egress-hosts`,
        ]),
      PATIENCE,
    );
    const { items } = await stack.client.listAll(events, { namespace: TEAM });
    expect(JSON.stringify(items)).not.toContain(VALUE);
  });
});
