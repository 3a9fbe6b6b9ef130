import { describe, expect, it } from 'vitest';
import { World } from '../../test/world.ts';
import { wantedCredentials } from '../plan/wanted.ts';
import { listIssuers, splitPem } from './read-certificate.ts';

const DAY_MS = 86_400_000;
const [NODE, SAVER] = ['x-node-tls', 'x-saver-tls'];

/** Whether each side accepts the certificate that the other one shows, now and as it was at another time. */
function accepts(one: Record<string, string>, other: Record<string, string>): boolean {
  return listIssuers(one['ca.crt'] ?? '', other['tls.crt'] ?? '').length > 0;
}

const sides = (world: World): Record<string, string>[] => [NODE, SAVER].map((name) => world.read(name));

function expectAgreement(world: World, before: readonly Record<string, string>[]): void {
  // A process that has not read its files again has those of the stage before.
  for (const one of [...sides(world), ...before])
    for (const other of [...sides(world), ...before]) expect(accepts(one, other)).toBe(true);
}

describe('certificates of one authority', () => {
  it('are renewed in their last year: first the authority, the certificate later, the old authority goes last', async () => {
    await using world = await World.start();
    await world.pass();
    const first = sides(world);
    await world.clock.advance(3_284 * DAY_MS);
    await world.pass();
    expect(sides(world)).toEqual(first);

    await world.clock.advance(2 * DAY_MS);
    await world.pass();
    const prepared = sides(world);
    expect(prepared.map(({ 'tls.crt': crt }) => crt)).toEqual(first.map(({ 'tls.crt': crt }) => crt));
    expectAgreement(world, first);
    await world.clock.advance(59 * DAY_MS);
    await world.pass();
    expect(sides(world)).toEqual(prepared);

    await world.clock.advance(2 * DAY_MS);
    await world.pass();
    const switched = sides(world);
    expect(switched.map(({ 'tls.crt': crt }) => crt)).toEqual(prepared.map(({ 'next.crt': crt }) => crt));
    expectAgreement(world, prepared);

    await world.clock.advance(60 * DAY_MS);
    await world.pass();
    expect(sides(world).map(({ 'ca.crt': bundle }) => splitPem(bundle ?? '').length)).toEqual([1, 1]);
    expect(sides(world).flatMap((files) => Object.keys(files).toSorted())).toEqual(
      [NODE, SAVER].flatMap(() => ['ca.crt', 'tls.crt', 'tls.key']),
    );
    expectAgreement(world, switched);
  });

  it.each(['prepare', 'switch'])('agree again after a kill between the two writes of the stage %s', async (stage) => {
    await using world = await World.start();
    await world.pass();
    if (stage === 'switch') await world.rotate(SAVER, 'tls.crt prepare');
    const before = sides(world);
    world.api.faults.failNext({
      match: { verb: 'patch', name: SAVER },
      answer: { status: 500 },
      times: 10,
    });
    await expect(world.rotate(NODE, `tls.crt ${stage}`)).rejects.toThrow();
    expectAgreement(world, before);
    world.api.faults.clear();
    await world.pass();
    expectAgreement(world, before);
    const [node, saver] = sides(world);
    expect('next.crt' in (node ?? {})).toBe(stage === 'prepare');
    expect('next.crt' in (saver ?? {})).toBe(stage === 'prepare');
    expect(await world.pass()).toBeUndefined();
  });

  it('are made anew together when one is lost, because the key of their authority is gone', async () => {
    await using world = await World.start();
    await world.pass();
    const before = sides(world);
    world.remove(SAVER);
    await world.pass();
    const after = sides(world);
    expect(after.filter((files, at) => files['tls.crt'] === before[at]?.['tls.crt'])).toEqual([]);
    expectAgreement(world, []);
  });

  it('are not used before the other side accepts them: the switch needs the first stage', async () => {
    await using world = await World.start();
    await world.pass();
    const before = sides(world);
    expect(await world.rotate(NODE, 'tls.crt switch')).toBe(
      'Secret x-node-tls: prepare the rotation of tls.crt before the switch',
    );
    expect(sides(world)).toEqual(before);
  });

  it('are left to the operator who brings them', async () => {
    await using world = await World.start();
    const certificates = [
      { name: NODE, given: true, subject: 'sandlot-node', hosts: ['sandlot-node'] },
      { name: SAVER, given: true, subject: 'saver', hosts: ['saver'] },
    ];
    const wanted = wantedCredentials.parse({ secrets: [], authorities: [{ name: 'own', certificates }] });
    world.give(NODE, { 'ca.crt': 'a', 'tls.crt': 'b', 'tls.key': 'c' });
    expect(await world.pass(wanted)).toBe('Secret x-saver-tls does not exist');
    world.give(SAVER, { 'ca.crt': 'a', 'tls.crt': 'b' });
    expect(await world.pass(wanted)).toBe('Secret x-saver-tls lacks tls.key');
    world.change(SAVER, { 'tls.key': 'c' });
    expect(await world.pass(wanted)).toBeUndefined();
    expect(world.api.writes()).toEqual([]);
  });
});
