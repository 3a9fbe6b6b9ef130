import { annotations } from '@sandlot/api-types';
import type { SandboxClaim } from '@sandlot/api-types';
import { envdAccessToken, tokenSubject, trafficAccessToken } from '@sandlot/tenancy';
import type { Deps } from '../../wiring/deps.ts';
import type { Held } from '../../state/cluster-state.ts';
import type { SandboxAnswer } from '../request/schemas.ts';
import { envdVersionOf, templateOf } from './view.ts';
import type { Tokens, ViewOptions } from './view.ts';

/** The tokens of a sandbox, derived anew each time: nobody stores them. */
export function tokensOf({ tokenKey }: Pick<Deps, 'tokenKey'>, claim: SandboxClaim): Tokens {
  const subject = tokenSubject(claim);
  const isPublic = claim.metadata.annotations?.[annotations.trafficTokenHash] === undefined;
  return {
    envd: envdAccessToken(tokenKey, subject),
    traffic: isPublic ? undefined : trafficAccessToken(tokenKey, subject),
  };
}

export function viewOptions({ settings }: Pick<Deps, 'settings'>): ViewOptions {
  return { envdVersion: settings.ENVD_VERSION, domain: settings.SANDBOX_DOMAIN };
}

/** What create, connect and resume answer. */
export function answerOf(deps: Pick<Deps, 'tokenKey' | 'settings'>, { claim, sandbox }: Held): SandboxAnswer {
  const tokens = tokensOf(deps, claim);
  const options = viewOptions(deps);
  return {
    templateID: templateOf(claim),
    alias: templateOf(claim),
    sandboxID: claim.metadata.name ?? '',
    clientID: 'sandlot',
    envdVersion: envdVersionOf(sandbox, options),
    envdAccessToken: tokens.envd,
    trafficAccessToken: tokens.traffic ?? null,
    domain: options.domain ?? null,
  };
}
