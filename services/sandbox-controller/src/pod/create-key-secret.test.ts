import { createPublicKey, createHash } from 'node:crypto';
import { pods, secrets } from '@sandlot/kube';
import type { Secret } from '@sandlot/kube';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { MOUNTED_RUNTIME } from '../../test/builders.ts';
import { Harness } from '../../test/harness.ts';
import { findAnnouncedIdentity } from './identity-text.ts';

const CREATION = { verb: 'create', resource: 'secrets' } as const;

let h: Harness;
beforeEach(async () => {
  h = await Harness.start();
});
afterEach(() => h[Symbol.asyncDispose]());

const start = () => h.startController({ runtime: MOUNTED_RUNTIME });
const create = (): void => h.create({ runtime: { inject: true } });
const list = (): readonly Secret[] => h.api.objects(secrets);
const reads = () => h.api.requests().filter(({ verb, resource }) => verb !== 'create' && resource === 'secrets');

async function awaitPod(): Promise<void> {
  await h.until(() => h.pod() !== undefined, 'there is a Pod');
}

function hashKey({ data = {} }: Secret): string {
  const publicKey = createPublicKey(Buffer.from(data['identity.key'] ?? '', 'base64').toString());
  return createHash('sha256')
    .update(publicKey.export({ format: 'der', type: 'spki' }))
    .digest('base64url');
}

describe('the Secret with the key of a Sandbox', () => {
  it('exists once, with the key that the Pod and then the status announce', async () => {
    await start();
    create();
    await awaitPod();
    h.runPod();
    await h.untilReady();
    const [secret] = list();
    expect(list()).toHaveLength(1);
    expect(h.status().runtime?.identity).toEqual({ publicKeyHash: secret && hashKey(secret), ports: [49_983, 8_888] });
    expect(reads()).toEqual([]);
  });

  it.each([
    [
      'answered with an error after it was committed',
      () => h.api.faults.errorAfterCommit({ match: CREATION, answer: 'reset' }),
    ],
    ['answered by an overloaded server', () => h.api.faults.failNext({ match: CREATION, answer: { status: 500 } })],
  ])('is there before the Pod also when its creation is %s', async (_, fail) => {
    fail();
    await start();
    create();
    await awaitPod();
    const pod = h.pod();
    expect(list().map(hashKey)).toEqual([pod && findAnnouncedIdentity(pod)?.publicKeyHash]);
  });

  it('is the same one when the controller dies before the Pod, and serves the next Pod too', async () => {
    const first = await start();
    const death = h.api.faults.failAfterWrites(1, { match: { user: 'sandbox-controller' } });
    create();
    await h.until(() => list().length === 1, 'there is a Secret');
    await h.kill(first);
    expect(h.api.objects(pods)).toEqual([]);
    death.end();
    await start();
    await awaitPod();
    h.removePod();
    await awaitPod();
    expect(list()).toHaveLength(1);
  });

  it('keeps the Pod back while the API server refuses it, and the Sandbox says why', async () => {
    h.api.faults.failNext({ match: CREATION, answer: { status: 403, reason: 'Forbidden' }, times: 1_000 });
    await start();
    create();
    const message = (): string => h.status().conditions?.find(({ type }) => type === 'Ready')?.message ?? '';
    await h.until(() => message().includes('create secrets'), 'Ready says what was refused');
    expect(h.pod()).toBeUndefined();
  });

  it('of another content does not change which key the status names', async () => {
    await start();
    create();
    await awaitPod();
    h.runPod();
    await h.untilReady();
    const { identity } = h.status().runtime ?? {};
    const [{ metadata } = { metadata: {} }] = list();
    h.edit((spec) => (spec.operatingMode = 'Suspended'));
    await h.until(() => h.pod()?.metadata.deletionTimestamp !== undefined || h.pod() === undefined, 'the Pod goes');
    h.removePod();
    h.api.remove(secrets, { namespace: metadata.namespace, name: metadata.name ?? '' });
    h.api.seed(secrets, { metadata: { namespace: metadata.namespace, name: metadata.name }, type: 'Opaque', data: {} });
    h.edit((spec) => (spec.operatingMode = 'Running'));
    await awaitPod();
    h.runPod();
    await h.untilReady();
    expect(h.status().runtime?.identity).toEqual(identity);
  });
});
