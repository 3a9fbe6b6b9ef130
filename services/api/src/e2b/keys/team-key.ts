import { createHash } from 'node:crypto';
import type { ApiKey } from '@sandlot/tenancy';
import type { TeamKey } from './schemas.ts';

/** `e2b_`, and so many hex digits. */
const PREFIX = 'e2b_';
const VALUE_LENGTH = 40;

/** The UUID by which clients of E2B name a key: clients in Python read nothing else as an id. It stays when Secrets are copied or restored. */
export function deriveKeyUuid(id: string): string {
  const digest = createHash('sha256').update(`sandlot/api-key/${id}`).digest();
  // Version 8, which is for forms of one's own, and the variant of RFC 9562.
  digest[6] = ((digest[6] ?? 0) & 0x0f) | 0x80;
  digest[8] = ((digest[8] ?? 0) & 0x3f) | 0x80;
  const hex = digest.toString('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20, 32)].join('-');
}

export function buildTeamKey({ id, description, createdAt }: ApiKey): TeamKey {
  return {
    id: deriveKeyUuid(id),
    name: description === '' ? id : description,
    mask: { prefix: PREFIX, valueLength: VALUE_LENGTH, maskedValuePrefix: '', maskedValueSuffix: '' },
    createdAt,
    createdBy: null,
    lastUsed: null,
  };
}
