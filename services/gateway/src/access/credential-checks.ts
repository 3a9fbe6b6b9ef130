import { pacing } from '@sandlot/pacing';
import type { Clock } from '@sandlot/std';
import { RateShares } from '../limits/rate-shares.ts';
import type { UsedUp } from '../limits/rate-shares.ts';
import type { Denial } from './denial.ts';
import { ExpiringMap } from '../limits/expiring-map.ts';

const MAX_KNOWN = 10_000;
const KNOWN_MS = 3_600_000;

/**
 * Decides whether the gateway may have a credential checked now. A credential that was valid in the last hour has a rate of
 * its own, so that garbage, from however many sources, never keeps its holder out.
 */
export class CredentialChecks {
  readonly #clock: Clock;
  readonly #unknown: RateShares;
  readonly #known: RateShares;
  /** Digests of credentials that were valid. */
  readonly #valid = new ExpiringMap<true>(MAX_KNOWN);

  constructor(clock: Clock) {
    const { perSecond, burst, sourcePerSecond, sourceBurst } = pacing.gatewayCredentials;
    const { knownPerSecond, knownBurst, credentialPerSecond, credentialBurst } = pacing.gatewayCredentials;
    this.#clock = clock;
    this.#unknown = new RateShares({
      perSource: { perSecond: sourcePerSecond, burst: sourceBurst },
      total: { perSecond, burst },
    });
    this.#known = new RateShares({
      perSource: { perSecond: credentialPerSecond, burst: credentialBurst },
      total: { perSecond: knownPerSecond, burst: knownBurst },
    });
  }

  /** Takes a turn to check the credential of that digest; why there is none otherwise. */
  take(digest: string, source: string): Denial {
    const nowMs = this.#clock.monotonic();
    const isKnown = this.#valid.get(digest, nowMs) !== undefined;
    return findDenial(isKnown ? this.#known.take(digest, nowMs) : this.#unknown.take(source, nowMs), isKnown);
  }

  /** Remembers that the credential is valid, whatever it allows. */
  recordValid(digest: string): void {
    this.#valid.set(digest, true, this.#clock.monotonic() + KNOWN_MS);
  }
}

function findDenial(usedUp: UsedUp | undefined, isKnown: boolean): Denial {
  if (usedUp === undefined) return undefined;
  if (usedUp === 'all') return { kind: 'unsure', message: 'Too many credentials are being checked now; try again' };
  return { kind: 'limited', limit: 'credentials-by-source', message: isKnown ? TOO_MANY_QUESTIONS : TOO_MANY_UNKNOWN };
}

const TOO_MANY_QUESTIONS =
  'Too many sandboxes are asked for with this credential: it may be checked a few times a second';
const TOO_MANY_UNKNOWN =
  'Too many unknown credentials from this client address: the gateway checks a few of them a second; try again';
