import { decideAuthority } from './certificates/decide-certificates.ts';
import { listEnding } from './certificates/list-ending.ts';
import type { FoundSecret, Plan, Snapshot, Step } from './plan/plan.ts';
import { listEntries } from './plan/wanted.ts';
import type { WantedCredentials, WantedSecret } from './plan/wanted.ts';
import { readRotation } from './rotate/read-rotation.ts';

const NOTHING: Plan = { steps: [], refusals: [] };

/**
 * What to make, so that every credential of the release exists. A credential that exists is never replaced, but by a rotation
 * that the operator asks for, or the renewal of a certificate. Certificates come last: Pods mount these as volumes, which the
 * kubelet retries at once, and the others as variables, which it retries after ten seconds.
 */
export function decide(wanted: WantedCredentials, snapshot: Snapshot): Plan {
  const plans = [
    ...wanted.secrets.map((secret) => decideSecret(secret, snapshot)),
    ...wanted.authorities.map((authority) => decideAuthority(authority, snapshot)),
  ];
  return { steps: plans.flatMap(({ steps }) => steps), refusals: plans.flatMap(({ refusals }) => refusals) };
}

function decideSecret(secret: WantedSecret, snapshot: Snapshot): Plan {
  const found = snapshot.found.get(secret.name);
  if (found === undefined)
    return secret.given ? refuse(`Secret ${secret.name} does not exist`) : plan({ do: 'create', secret });
  const lacking = listLacking(secret, found);
  if (lacking.length === 0) {
    const ending = listEnding(secret, found, snapshot.nowMs);
    return ending.length > 0 ? { steps: [], refusals: ending } : decideRotation(secret, found);
  }
  const halves = lacking.filter(({ entries, missing }) => missing.length < entries.length);
  if (secret.given || halves.length > 0) {
    const names = (secret.given ? lacking : halves).flatMap(({ missing }) => missing);
    return refuse(`Secret ${secret.name} lacks ${names.join(', ')}`);
  }
  return plan({ do: 'complete', secret, found, missing: lacking.map(({ name }) => name) });
}

interface Lacking {
  readonly name: string;
  readonly entries: readonly string[];
  readonly missing: readonly string[];
}

function listLacking({ entries: wanted }: WantedSecret, found: FoundSecret): readonly Lacking[] {
  return Object.entries(wanted)
    .map(([name, recipe]): Lacking => {
      const entries = listEntries(name, recipe);
      return { name, entries, missing: entries.filter((entry) => (found.entries[entry] ?? '') === '') };
    })
    .filter(({ missing }) => missing.length > 0);
}

function decideRotation(secret: WantedSecret, found: FoundSecret): Plan {
  if (found.rotate === undefined) return NOTHING;
  if (secret.given) return refuse(`Secret ${secret.name} is yours: rotate it where it comes from`);
  const rotation = readRotation(secret, found.rotate, found.entries);
  if (typeof rotation === 'string') return refuse(`Secret ${secret.name}: ${rotation}`);
  return plan({ do: 'rotate', secret, found, ...rotation });
}

function plan(step: Step): Plan {
  return { steps: [step], refusals: [] };
}

function refuse(refusal: string): Plan {
  return { steps: [], refusals: [refusal] };
}
