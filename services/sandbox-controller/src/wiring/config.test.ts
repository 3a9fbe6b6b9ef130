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
    const other = generateKeyPairSync('x25519').publicKey.export({ format: 'pem', type: 'spki' }).toString();
    for (const wrong of [other, 'nonsense']) {
      expect(() => loadConfig(sandboxSettings, { RUNTIME_PUBLIC_KEY: wrong })).toThrow(/RUNTIME_PUBLIC_KEY/);
    }
  });

  it('name a wrong variable and what it accepts', () => {
    expect(() => loadConfig(sandboxSettings, { UNSET_SERVICE: 'Sometimes' })).toThrow(
      /UNSET_SERVICE: expected one of V1Alpha1, Never, Always, got "Sometimes"/,
    );
  });
});
