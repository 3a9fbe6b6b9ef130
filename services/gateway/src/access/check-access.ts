import { createHash, timingSafeEqual } from 'node:crypto';
import { findPinnedKey } from '@sandlot/api-types';
import type { RuntimeIdentity } from '@sandlot/api-types';
import type { Terms } from '../directory/target.ts';
import type { SandboxExchange } from '../proxy/exchange.ts';
import type { Refusal } from '../refusals/refusal.ts';
import { DAEMON_PORT } from '../routing/paths.ts';
import { checkPreviews } from './previews.ts';

/** What tells the ports of the daemon's APIs without tokens from those of the user. */
export interface RuntimePorts {
  /** The port of the API on 8888; 0: no port is known by its number. */
  readonly execPort: number;
  /** By what the daemon is recognised; undefined: it is not known yet, or speaks plainly. */
  readonly identity: RuntimeIdentity | undefined;
}

/** What tells it, and when. */
export interface AccessContext extends RuntimePorts {
  readonly nowMs: number;
}

/** Whether the daemon itself answers on a port, and no token protects it (docs/agent-sandbox-clients.md#port-8888). */
export function isRuntimeApi(port: number, { execPort, identity }: RuntimePorts): boolean {
  return port === execPort || (port !== DAEMON_PORT && findPinnedKey(identity, port) !== undefined);
}

/**
 * What the gateway answers because of the terms of a sandbox; undefined: the exchange may pass. They close the APIs without tokens
 * to E2B clients and guard every port but the daemon's with the traffic token, or a preview (docs/reference/e2b-api.md#access-rules).
 */
export function checkAccess(exchange: SandboxExchange, terms: Terms, context: AccessContext): Refusal | undefined {
  const { port, path, id, dialect } = exchange;
  if (dialect === 'e2b' && terms.hasDaemon && port !== 0 && isRuntimeApi(port, context))
    return { kind: 'blocked', path };
  if (terms.trafficTokenHash === undefined || port === DAEMON_PORT) return undefined;
  const token = exchange.request.headers['e2b-traffic-access-token'];
  const isRight = typeof token === 'string' && isHashOf(token, terms.trafficTokenHash);
  if (isRight) return undefined;
  const answer = checkPreviews(exchange, terms, context.nowMs);
  return answer === 'none' ? { kind: 'traffic-token', id } : answer;
}

function isHashOf(token: string, hash: string): boolean {
  const expected = Buffer.from(hash, 'hex');
  const actual = createHash('sha256').update(token).digest();
  return expected.length === actual.length && timingSafeEqual(actual, expected);
}
