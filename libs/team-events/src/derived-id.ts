import { createHash } from 'node:crypto';

/** A UUID that follows from the text alone, in the form of version 5: two processes that read one event give it one id. */
export function deriveUuid(kind: string, text: string): string {
  const digest = createHash('sha256').update(`sandlot:${kind}\n${text}`).digest().subarray(0, 16);
  digest[6] = ((digest[6] ?? 0) & 0x0f) | 0x50;
  digest[8] = ((digest[8] ?? 0) & 0x3f) | 0x80;
  const hex = digest.toString('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}

/** The id of a team in events and webhooks, where clients expect a UUID. `GET /teams` has the namespace itself. */
export function formatTeamId(namespace: string): string {
  return deriveUuid('team', namespace);
}
