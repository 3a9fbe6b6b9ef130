import type { SandboxClaim } from '@sandlot/api-types';
import type { AnswerOptions } from '../answer/sandbox.ts';
import { buildTokens } from '../answer/tokens.ts';

const DAEMON_PORT = '49983';

export interface DaemonDeps {
  readonly answers: Pick<AnswerOptions, 'tokenKeys'>;
  /** Undefined: the API does not reach daemons. */
  readonly gatewayUrl: string | undefined;
}

export interface DaemonRequest {
  readonly gatewayUrl: string;
  readonly path: '/health' | '/metrics' | `/records?from=${number}`;
  readonly signal: AbortSignal;
}

/** Sends a request to the daemon of a sandbox: through the gateway, because NetworkPolicies let no other pod reach the daemon. */
export function askDaemon(
  { answers }: Pick<DaemonDeps, 'answers'>,
  claim: SandboxClaim,
  { gatewayUrl, path, signal }: DaemonRequest,
): Promise<Response> {
  const headers = {
    'E2b-Sandbox-Id': claim.metadata.name ?? '',
    'E2b-Sandbox-Port': DAEMON_PORT,
    'X-Access-Token': buildTokens(claim, answers.tokenKeys).envd,
  };
  return fetch(new URL(path, gatewayUrl), { headers, signal });
}
