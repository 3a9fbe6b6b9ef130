import type { Secret } from '@sandlot/kube';
import { keyAuthors, buildKeySecret, mintApiKey, VIA_API } from '@sandlot/tenancy';
import { describe, expect, it } from 'vitest';
import { findAuditRecord } from './key-changes.ts';

const NOW = Date.parse('2026-01-01T12:00:00Z');
const { key } = mintApiKey({ namespace: 'team-a', team: 'a', role: 'tenant', description: '', limits: {} });

function secret(annotations: Record<string, string> = {}, createdMs = NOW): Secret {
  const { metadata, ...rest } = buildKeySecret(key, 'sandlot-system');
  const creationTimestamp = new Date(createdMs).toISOString();
  return { ...rest, metadata: { ...metadata, uid: 'u-1', creationTimestamp, annotations } };
}

const created = secret({ [keyAuthors.createdBy]: 'ana' });
const revoked = secret({ [keyAuthors.createdBy]: 'ana', [keyAuthors.revokedBy]: 'bob' });

describe('the audit record of an API key', () => {
  it.each([
    ['created by sandlot keys', { next: created }, 'key.create', 'ana'],
    ['created by kubectl', { next: secret() }, 'key.create', 'unknown'],
    ['revoked by sandlot keys', { old: revoked }, 'key.revoke', 'bob'],
    ['revoked by kubectl', { old: created }, 'key.revoke', 'unknown'],
    [
      'created over the API and deleted by kubectl',
      { old: secret({ [keyAuthors.createdBy]: `${VIA_API}k` }) },
      'key.revoke',
      'unknown',
    ],
  ])('names the key and the user if it was %s', (...[, change, action, user]) => {
    expect(findAuditRecord(change, NOW)).toMatchObject({
      namespace: 'team-a',
      name: key.id,
      uid: 'u-1',
      action,
      actor: { user },
    });
    expect(JSON.stringify(findAuditRecord(change, NOW))).not.toContain(key.hash);
  });

  it.each([
    ['created over the API', { next: secret({ [keyAuthors.createdBy]: `${VIA_API}k` }) }],
    ['revoked over the API', { old: secret({ [keyAuthors.revokedBy]: `${VIA_API}k` }) }],
    ['created long before this replica started', { next: secret({}, NOW - 600_000) }],
    ['only changed', { old: created, next: revoked }],
    ['not an API key', { next: { metadata: { name: 'other', creationTimestamp: '2026-01-01T12:00:00Z' } } }],
  ])('does not exist if it was %s', (_name, change) => {
    expect(findAuditRecord(change, NOW)).toBeUndefined();
  });
});
