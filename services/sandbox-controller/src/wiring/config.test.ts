import { generateKeyPairSync } from 'node:crypto';
import { loadConfig } from '@sandlot/config';
import { describe, expect, it } from 'vitest';
import { sandboxSettings } from './config.ts';

describe('settings', () => {
  it('have a default for everything', () => {
    expect(loadConfig(sandboxSettings, {})).toMatchObject({
      CLUSTER_DOMAIN: 'cluster.local',
      UNSET_SERVICE: 'V1Alpha1',
    });
  });

  it('read the public key as the daemon needs it, and reject other kinds of keys', () => {
    const { publicKey } = generateKeyPairSync('ed25519');
    const pem = publicKey.export({ format: 'pem', type: 'spki' }).toString();
    const { x = '' } = publicKey.export({ format: 'jwk' });
    const raw = Buffer.from(x, 'base64url').toString('base64');
    expect(loadConfig(sandboxSettings, { RUNTIME_PUBLIC_KEY: pem }).RUNTIME_PUBLIC_KEY).toBe(raw);
    const both = loadConfig(sandboxSettings, { RUNTIME_PUBLIC_KEY: pem + pem }).RUNTIME_PUBLIC_KEY;
    expect(both).toBe(`${raw},${raw}`);
    const other = generateKeyPairSync('x25519').publicKey.export({ format: 'pem', type: 'spki' }).toString();
    for (const wrong of [other, pem + other, 'nonsense']) {
      expect(() => loadConfig(sandboxSettings, { RUNTIME_PUBLIC_KEY: wrong })).toThrow(/RUNTIME_PUBLIC_KEY/);
    }
  });

  it('read the seed of keys, and never print a wrong one', () => {
    const given = Buffer.alloc(32, 7).toString('base64');
    const { RUNTIME_IDENTITY_SEED: seed } = loadConfig(sandboxSettings, { RUNTIME_IDENTITY_SEED: given });
    expect(seed?.export().toString('base64')).toBe(given);
    expect(() => loadConfig(sandboxSettings, { RUNTIME_IDENTITY_SEED: 'too short' })).toThrow(
      'RUNTIME_IDENTITY_SEED: expected base64 of at least 32 bytes, got a value that is not shown',
    );
  });

  it('bring the daemon by an init container unless they say otherwise', () => {
    expect(loadConfig(sandboxSettings, {}).RUNTIME_DELIVERY).toBe('InitContainer');
    expect(loadConfig(sandboxSettings, { RUNTIME_DELIVERY: 'ImageVolume' }).RUNTIME_DELIVERY).toBe('ImageVolume');
  });

  it('name a wrong variable and what it accepts', () => {
    expect(() => loadConfig(sandboxSettings, { UNSET_SERVICE: 'Sometimes' })).toThrow(
      /UNSET_SERVICE: expected one of V1Alpha1, Never, Always, got "Sometimes"/,
    );
  });
});
