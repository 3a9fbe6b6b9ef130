import { createPrivateKey, createPublicKey } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { WANTED, World } from '../test/world.ts';
import { wantedCredentials } from './plan/wanted.ts';

const [REDIS, RUNTIME] = ['x-redis-auth', 'x-runtime'];
const given = wantedCredentials.parse({
  ...WANTED,
  secrets: WANTED.secrets.map((secret) => ({ ...secret, given: true })),
});

describe('credentials of a release', () => {
  it('are made where none exist, in one pass, without an owner', async () => {
    await using world = await World.start();
    expect(await world.pass()).toBeUndefined();
    expect(Object.keys(world.readAll()).toSorted()).toEqual([
      'x-bucket-keys',
      'x-egress-ca',
      'x-node-tls',
      'x-redis-auth',
      'x-runtime',
      'x-saver-tls',
    ]);
    const {
      'signing.key': key = '',
      'signing.pub': pub = '',
      'envd.key': token = '',
      'identity.seed': seed,
    } = world.read(RUNTIME);
    expect(createPublicKey(createPrivateKey(key)).export({ format: 'pem', type: 'spki' })).toBe(pub);
    expect(Buffer.from(token, 'base64')).toHaveLength(32);
    expect(seed).not.toBe(token);
    const { admin = '', 'claim-controller': other } = world.read(REDIS);
    expect(admin).toMatch(/^p[0-9a-f]{56}$/);
    expect(other).not.toBe(admin);
    expect(world.read('x-bucket-keys')['keys']).toMatch(/^k[0-9a-f]{8} [A-Za-z0-9+/]{43}=\n$/);
    expect(world.find(REDIS)?.metadata).toMatchObject({ labels: { app: 'x' } });
    expect(world.find(REDIS)?.metadata.ownerReferences).toBeUndefined();
  });

  it('stay as they are, and cost no write', async () => {
    await using world = await World.start();
    await world.pass();
    const [before, writes] = [world.readAll(), world.api.writes().length];
    expect(await world.pass()).toBeUndefined();
    expect(world.readAll()).toEqual(before);
    expect(world.api.writes()).toHaveLength(writes);
  });

  it('are made anew one by one, when one is lost', async () => {
    await using world = await World.start();
    await world.pass();
    const before = world.readAll();
    world.remove(REDIS);
    await world.pass();
    expect(world.readAll()).toEqual({ ...before, [REDIS]: expect.anything() as object });
    expect(world.read(REDIS)).not.toEqual(before[REDIS]);
  });

  it('get the entries that a later release needs, and keep the others', async () => {
    await using world = await World.start();
    await world.pass();
    const before = world.read(RUNTIME);
    world.change(RUNTIME, { 'identity.seed': undefined });
    expect(await world.pass()).toBeUndefined();
    expect(world.read(RUNTIME)).toEqual({ ...before, 'identity.seed': expect.stringMatching(/^.{44}$/) as string });
  });

  it('are never replaced when half of a key pair is missing: that is refused', async () => {
    await using world = await World.start();
    await world.pass();
    world.change(RUNTIME, { 'signing.key': '' });
    const before = world.readAll();
    expect(await world.pass()).toBe('Secret x-runtime lacks signing.key');
    expect(world.readAll()).toEqual(before);
  });

  it('are never replaced when another client makes one between the look and the create', async () => {
    await using world = await World.start();
    world.api.faults.failNext({
      match: { verb: 'get', name: REDIS },
      answer: { status: 404, reason: 'NotFound' },
    });
    world.give(REDIS, { admin: 'theirs', 'claim-controller': 'theirs-too' });
    await expect(world.pass()).rejects.toThrow('already exists');
    await world.pass();
    expect(world.read(REDIS)).toEqual({ admin: 'theirs', 'claim-controller': 'theirs-too' });
  });

  it('are complete after an answer of the API server was lost', async () => {
    await using world = await World.start();
    world.api.faults.errorAfterCommit({ match: { verb: 'create' }, answer: { status: 500 } });
    await world.pass().catch(() => undefined);
    const first = world.read(RUNTIME);
    expect(await world.pass()).toBeUndefined();
    expect(world.read(RUNTIME)).toEqual(first);
  });
});

describe('credentials that the operator brings', () => {
  it('are never written, and what they lack is said in words', async () => {
    await using world = await World.start();
    world.give(REDIS, { admin: 'mine' });
    expect(await world.pass(given)).toBe(
      'Secret x-runtime does not exist; Secret x-redis-auth lacks claim-controller; Secret x-bucket-keys does not exist; ' +
        'Secret x-egress-ca does not exist',
    );
    expect(Object.keys(world.readAll()).toSorted()).toEqual(['x-node-tls', REDIS, 'x-saver-tls']);
    expect(world.read(REDIS)).toEqual({ admin: 'mine' });
  });
});
