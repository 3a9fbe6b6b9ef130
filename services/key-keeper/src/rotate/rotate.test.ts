import { describe, expect, it } from 'vitest';
import { World } from '../../test/world.ts';
import { formatPublicKey } from '../material/material.ts';

const [REDIS, RUNTIME, BUCKET] = ['x-redis-auth', 'x-runtime', 'x-bucket-keys'];

describe('a key pair', () => {
  it('is rotated in three stages, in the first two of which both keys are accepted', async () => {
    await using world = await World.start();
    await world.pass();
    const before = world.read(RUNTIME);
    const old = before['signing.pub'] ?? '';

    await world.rotate(RUNTIME, 'signing prepare');
    const prepared = world.read(RUNTIME);
    const next = formatPublicKey(prepared['signing.next'] ?? '');
    expect(prepared).toMatchObject({ 'signing.key': before['signing.key'], 'signing.pub': old + next });

    await world.rotate(RUNTIME, 'signing  switch');
    const switched = world.read(RUNTIME);
    expect(switched).toEqual({ ...before, 'signing.key': prepared['signing.next'], 'signing.pub': next + old });

    await world.rotate(RUNTIME, 'signing finish');
    expect(world.read(RUNTIME)).toEqual({ ...switched, 'signing.pub': next });
    expect(world.find(RUNTIME)?.metadata.annotations?.['sandlot.dev/rotate']).toBeUndefined();
  });

  it('keeps the next key when the first stage is asked for twice', async () => {
    await using world = await World.start();
    await world.pass();
    await world.rotate(RUNTIME, 'signing prepare');
    const prepared = world.read(RUNTIME);
    await world.rotate(RUNTIME, 'signing prepare');
    expect(world.read(RUNTIME)).toEqual(prepared);
  });
});

describe('the key of tokens', () => {
  const [KEY, NUMBER, OTHER] = ['envd.key', 'envd.key.number', 'envd.key.other'];

  it('is rotated in three stages, after which it has the next number', async () => {
    await using world = await World.start();
    await world.pass();
    const before = world.read(RUNTIME);

    await world.rotate(RUNTIME, 'envd.key prepare');
    const prepared = world.read(RUNTIME);
    const [number, next] = prepared[OTHER]?.split(':') ?? [];
    expect(prepared).toEqual({ ...before, [OTHER]: `2:${next}` });
    expect([number, next === before[KEY], Buffer.from(next ?? '', 'base64').length]).toEqual(['2', false, 32]);

    await world.rotate(RUNTIME, 'envd.key switch');
    const switched = { ...before, [KEY]: next, [NUMBER]: '2', [OTHER]: `1:${before[KEY]}` };
    expect(world.read(RUNTIME)).toEqual(switched);

    await world.rotate(RUNTIME, 'envd.key finish');
    expect(world.read(RUNTIME)).toEqual({ ...before, [KEY]: next, [NUMBER]: '2' });

    await world.rotate(RUNTIME, 'envd.key prepare');
    expect(world.read(RUNTIME)[OTHER]).toMatch(/^3:/);
  });

  it('keeps the next key when the first stage is asked for twice', async () => {
    await using world = await World.start();
    await world.pass();
    await world.rotate(RUNTIME, 'envd.key prepare');
    const prepared = world.read(RUNTIME);
    await world.rotate(RUNTIME, 'envd.key prepare');
    expect(world.read(RUNTIME)).toEqual(prepared);
  });

  it('is not prepared again while tokens of the key of before are accepted', async () => {
    await using world = await World.start();
    await world.pass();
    for (const stage of ['prepare', 'switch']) await world.rotate(RUNTIME, `envd.key ${stage}`);
    const switched = world.read(RUNTIME);
    expect(await world.rotate(RUNTIME, 'envd.key prepare')).toContain(
      'finish the rotation of envd.key before the next',
    );
    expect(await world.rotate(RUNTIME, 'envd.key switch')).toContain(
      'prepare the rotation of envd.key before the switch',
    );
    expect(world.read(RUNTIME)).toEqual(switched);
  });
});

it('a password is rotated with the old one beside it until the end', async () => {
  await using world = await World.start();
  await world.pass();
  const before = world.read(REDIS);
  await world.rotate(REDIS, 'claim-controller switch');
  const switched = world.read(REDIS);
  expect(switched).toEqual({
    ...before,
    'claim-controller': expect.stringMatching(/^p/) as string,
    'claim-controller.previous': before['claim-controller'],
  });
  expect(switched['claim-controller']).not.toBe(before['claim-controller']);
  await world.rotate(REDIS, 'claim-controller finish');
  expect(world.read(REDIS)).toEqual({ ...before, 'claim-controller': switched['claim-controller'] });
});

it('a sealing key can open from the first stage on, and seals from the second', async () => {
  await using world = await World.start();
  await world.pass();
  const lines = (): readonly string[] => (world.read(BUCKET)['keys'] ?? '').trimEnd().split('\n');
  const [old] = lines();
  await world.rotate(BUCKET, 'keys prepare');
  const [first, next] = lines();
  expect([first, lines().length]).toEqual([old, 2]);
  await world.rotate(BUCKET, 'keys switch');
  expect(lines()).toEqual([next, old]);
});

it.each([
  ['signing switch', 'prepare the rotation of signing before the switch'],
  ['signing burn', 'sandlot.dev/rotate of signing can be prepare, switch, finish'],
  ['envd.key switch', 'prepare the rotation of envd.key before the switch'],
  ['identity.seed prepare', 'sandlot.dev/rotate of identity.seed can be switch'],
  ['toString switch', 'sandlot.dev/rotate names toString, which is none of signing, envd.key, identity.seed'],
])('"%s" is refused, and changes nothing', async (text, refusal) => {
  await using world = await World.start();
  await world.pass();
  const before = world.readAll();
  expect(await world.rotate(RUNTIME, text)).toBe(`Secret x-runtime: ${refusal}`);
  expect(world.readAll()).toEqual(before);
});

it('a rotation that another write overtakes changes nothing, and is tried again', async () => {
  await using world = await World.start();
  await world.pass();
  const before = world.readAll();
  world.api.faults.failNext({ match: { verb: 'patch' }, answer: { status: 409, reason: 'Conflict' } });
  await expect(world.rotate(RUNTIME, 'signing prepare')).rejects.toThrow();
  expect(world.readAll()).toEqual(before);
  await world.pass();
  expect(world.read(RUNTIME)).toHaveProperty(['signing.next']);
});
