import { createHash } from 'node:crypto';

/** E2B's signature of a body: a plain hash, by which receivers written for E2B recognise it. */
export function signBody(secret: string, body: string): string {
  return createHash('sha256').update(secret).update(body).digest('base64url');
}
