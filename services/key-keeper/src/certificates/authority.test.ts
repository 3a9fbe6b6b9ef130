import { createPrivateKey, sign, verify, X509Certificate } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { World } from '../../test/world.ts';
import { wantedCredentials } from '../plan/wanted.ts';

const DAY_MS = 86_400_000;
const NAME = 'x-egress-ca';
const FILES = ['ca.crt', 'tls.crt', 'tls.key'];
const given = wantedCredentials.parse({
  secrets: [{ name: NAME, given: true, entries: { tls: 'authority' } }],
  authorities: [],
});

describe('an authority that keeps its key', () => {
  it('has a key of P-256 that signs for its certificate, which is good for ten years and signed by itself', async () => {
    await using world = await World.start();
    await world.pass();
    const { 'tls.crt': crt = '', 'tls.key': key = '', 'ca.crt': ca } = world.read(NAME);
    expect(ca).toBe(crt);
    expect(world.find(NAME)?.type).toBe('Opaque');
    const certificate = new X509Certificate(crt);
    expect(certificate.publicKey.asymmetricKeyDetails).toMatchObject({ namedCurve: 'prime256v1' });
    const text = Buffer.from('a host');
    expect(verify('sha256', text, certificate.publicKey, sign('sha256', text, createPrivateKey(key)))).toBe(true);
    expect([certificate.ca, certificate.checkIssued(certificate), certificate.verify(certificate.publicKey)]).toEqual([
      true,
      true,
      true,
    ]);
    expect(Math.round((Date.parse(certificate.validTo) - world.clock.now()) / DAY_MS)).toBe(3_650);
    expect(certificate.subject).toMatch(/^CN=x-egress-ca [0-9a-f]{8}$/);
  });

  it('may sign certificates of hosts, and neither another authority nor anything else', async () => {
    await using world = await World.start();
    await world.pass();
    const hex = new X509Certificate(world.read(NAME)['tls.crt'] ?? '').raw.toString('hex');
    // Critical BasicConstraints: CA, pathLenConstraint 0. Critical KeyUsage: keyCertSign alone.
    expect(hex).toContain('0603551d130101ff040830060101ff020100');
    expect(hex).toContain('0603551d0f0101ff040403020204');
  });

  it('differs from one installation to the next', async () => {
    await using one = await World.start();
    await using other = await World.start();
    await one.pass();
    await other.pass();
    const [first, second] = [one, other].map((world) => new X509Certificate(world.read(NAME)['tls.crt'] ?? ''));
    expect(first?.subject).not.toBe(second?.subject);
  });

  it.each(FILES)('is never completed: without %s it is refused', async (file) => {
    await using world = await World.start();
    await world.pass();
    world.change(NAME, { [file]: undefined });
    const before = world.readAll();
    expect(await world.pass()).toBe(`Secret ${NAME} lacks ${file}`);
    expect(world.readAll()).toEqual(before);
  });

  it('is not renewed, since sandboxes trust it, and the operator hears of its end 90 days before', async () => {
    await using world = await World.start();
    await world.pass();
    const before = world.read(NAME);
    await world.clock.advance(3_559 * DAY_MS);
    expect(await world.pass()).toBeUndefined();
    await world.clock.advance(2 * DAY_MS);
    const end = new Date(Date.parse(new X509Certificate(before['tls.crt'] ?? '').validTo)).toISOString().slice(0, 10);
    expect(await world.pass()).toBe(`Secret ${NAME}: the authority in tls.crt ends on ${end}`);
    expect(world.read(NAME)).toEqual(before);
  });

  it('stays as it is while the operator rotates it by hand, with two certificates to trust and then another key', async () => {
    await using world = await World.start();
    await using other = await World.start();
    await world.pass();
    await other.pass();
    const [old, next] = [world.read(NAME), other.read(NAME)];
    const stages = [
      { 'ca.crt': `${old['ca.crt'] ?? ''}${next['ca.crt'] ?? ''}` },
      { ...next, 'ca.crt': old['ca.crt'] },
      next,
    ];
    for (const stage of stages) {
      world.change(NAME, stage);
      const before = world.read(NAME);
      expect(await world.pass()).toBeUndefined();
      expect(world.read(NAME)).toEqual(before);
    }
  });

  it.each(['prepare', 'switch', 'finish'])('cannot be rotated by the stage %s', async (stage) => {
    await using world = await World.start();
    await world.pass();
    const before = world.read(NAME);
    expect(await world.rotate(NAME, `tls ${stage}`)).toBe(
      `Secret ${NAME}: tls is an authority, which cannot be rotated`,
    );
    expect(world.read(NAME)).toEqual(before);
  });

  it('that the operator brings is looked at, and never written', async () => {
    await using world = await World.start();
    expect(await world.pass(given)).toBe(`Secret ${NAME} does not exist`);
    world.give(NAME, { 'tls.crt': 'no certificate', 'tls.key': 'b' });
    expect(await world.pass(given)).toBe(`Secret ${NAME} lacks ca.crt`);
    world.change(NAME, { 'ca.crt': 'c' });
    expect(await world.pass(given)).toBe(`Secret ${NAME}: tls.crt has no certificate`);
    expect(world.api.writes()).toEqual([]);
  });
});
