import { createHash, timingSafeEqual } from 'node:crypto';
import type { Terms } from '../directory/target.ts';
import type { SandboxExchange } from '../proxy/exchange.ts';
import type { Refusal } from '../refusals/refusal.ts';
import { DAEMON_PORT } from '../routing/paths.ts';

/**
 * Why the terms of a sandbox forbid an exchange; undefined: they do not. They close `execPort` to E2B clients and guard every
 * port but the daemon's with the traffic token (docs/reference/e2b-api.md#access-rules).
 */
export function checkAccess(exchange: SandboxExchange, terms: Terms, execPort: number): Refusal | undefined {
  const { port, path, id, dialect } = exchange;
  if (dialect === 'e2b' && terms.hasDaemon && port === execPort && execPort !== 0) return { kind: 'blocked', path };
  if (terms.trafficTokenHash === undefined || port === DAEMON_PORT) return undefined;
  const token = exchange.request.headers['e2b-traffic-access-token'];
  const isRight = typeof token === 'string' && isHashOf(token, terms.trafficTokenHash);
  return isRight ? undefined : { kind: 'traffic-token', id };
}

function isHashOf(token: string, hash: string): boolean {
  const expected = Buffer.from(hash, 'hex');
  const actual = createHash('sha256').update(token).digest();
  return expected.length === actual.length && timingSafeEqual(actual, expected);
}
