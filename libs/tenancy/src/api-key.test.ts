import type { Secret } from '@sandlot/kube';
import { describe, expect, it } from 'vitest';
import { parseKeySecret, buildKeySecret, mintApiKey } from './index.ts';
import type { ApiKeyInput } from './index.ts';
import { MapRing } from './key-ring.ts';

const INPUT: ApiKeyInput = {
  namespace: 'team-a',
  team: 'a',
  role: 'tenant',
  description: 'continuous integration',
  limits: { sandboxes: 5, createsPerSecond: 0.5, neverTimeout: true },
};

describe('the Secret of a key', () => {
  const { key, text } = mintApiKey(INPUT);
  const secret = buildKeySecret(key, 'sandlot-system');

  it('holds everything about the key but its text', () => {
    expect(parseKeySecret(secret)).toEqual(key);
    expect(JSON.stringify(secret)).not.toContain(text.slice(4));
    expect(Object.values(secret.data ?? {}).map((value) => Buffer.from(value, 'base64').toString())).not.toContain(
      text,
    );
  });

  const base64 = (value: string): string => Buffer.from(value).toString('base64');
  const withData = (data: Record<string, string>): Secret => ({ ...secret, data: { ...secret.data, ...data } });

  it.each<[string, Secret]>([
    ['without the label', { ...secret, metadata: { ...secret.metadata, labels: {} } }],
    ['of another name', { ...secret, metadata: { ...secret.metadata, name: 'nats-auth' } }],
    ['without data', { metadata: secret.metadata }],
    ['with a digest that is none', withData({ hash: base64('secret') })],
    ['with a namespace that is none', withData({ namespace: base64('a/b') })],
    ['with a role that is none', withData({ role: base64('root') })],
    ['with limits that are no JSON', withData({ limits: base64('{') })],
    ['with a negative limit', withData({ limits: base64('{"sandboxes":-1}') })],
  ])('%s is no key', (_what, given) => {
    expect(parseKeySecret(given)).toBeUndefined();
  });
});

describe('a ring of keys', () => {
  const one = mintApiKey(INPUT);
  const other = mintApiKey({ ...INPUT, namespace: 'team-b' });

  it('finds a key by its text and by no other text', () => {
    const ring = new MapRing();
    ring.set('one', one.key);
    ring.set('other', other.key);
    expect(ring.find(one.text)).toEqual(one.key);
    expect(ring.find(other.text)?.namespace).toBe('team-b');
    for (const text of ['', one.key.hash, one.text.slice(0, -1), one.text.toUpperCase()]) {
      expect(ring.find(text)).toBeUndefined();
    }
  });

  it('forgets a revoked key and a replaced key', () => {
    const ring = new MapRing();
    ring.set('one', one.key);
    ring.set('one', other.key);
    expect([ring.find(one.text), ring.findById(one.key.id)]).toEqual([undefined, undefined]);
    expect(ring.list()).toEqual([other.key]);
    ring.set('one', undefined);
    expect([ring.find(other.text), ring.list()]).toEqual([undefined, []]);
  });
});
