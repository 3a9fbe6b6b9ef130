import type { Secret } from '@sandlot/kube';
import { keyAuthors, keySecret, mintApiKey, VIA_API } from '@sandlot/tenancy';
import { describe, expect, it } from 'vitest';
import { keyRecord } from './key-changes.ts';

const NOW = Date.parse('2026-01-01T12:00:00Z');
const { key } = mintApiKey({ namespace: 'team-a', team: 'a', role: 'tenant', description: '', limits: {} });

function secret(annotations: Record<string, string> = {}, createdMs = NOW): Secret {
  const { metadata, ...rest } = keySecret(key, 'sandlot-system');
  const creationTimestamp = new Date(createdMs).toISOString();
  return { ...rest, metadata: { ...metadata, uid: 'u-1', creationTimestamp, annotations } };
}

const made = secret({ [keyAuthors.createdBy]: 'ana' });
const revoked = secret({ [keyAuthors.createdBy]: 'ana', [keyAuthors.revokedBy]: 'bob' });

describe('the record of an API key', () => {
  it.each([
    ['made by sandlot keys', { next: made }, 'key.create', 'ana'],
    ['made by kubectl', { next: secret() }, 'key.create', 'unknown'],
    ['taken back by sandlot keys', { old: revoked }, 'key.revoke', 'bob'],
    ['taken back by kubectl', { old: made }, 'key.revoke', 'unknown'],
    [
      'made over the API and deleted by kubectl',
      { old: secret({ [keyAuthors.createdBy]: `${VIA_API}k` }) },
      'key.revoke',
      'unknown',
    ],
  ])('%s names the key, and who it was', (...[, change, action, user]) => {
    expect(keyRecord(change, NOW)).toMatchObject({
      namespace: 'team-a',
      name: key.id,
      uid: 'u-1',
      action,
      actor: { user },
    });
    expect(JSON.stringify(keyRecord(change, NOW))).not.toContain(key.hash);
  });

  it.each([
    ['made over the API', { next: secret({ [keyAuthors.createdBy]: `${VIA_API}k` }) }],
    ['taken back over the API', { old: secret({ [keyAuthors.revokedBy]: `${VIA_API}k` }) }],
    ['made long before this replica', { next: secret({}, NOW - 600_000) }],
    ['only changed', { old: made, next: revoked }],
    ['no key at all', { next: { metadata: { name: 'other', creationTimestamp: '2026-01-01T12:00:00Z' } } }],
  ])('%s is told by somebody else, or is none', (_what, change) => {
    expect(keyRecord(change, NOW)).toBeUndefined();
  });
});
