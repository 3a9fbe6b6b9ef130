import type { SandboxClaim } from '@sandlot/api-types';
import { annotations, sandboxClaims } from '@sandlot/api-types';
import { isConflict, isNotFound, keyOf } from '@sandlot/kube';
import type { KubeClient } from '@sandlot/kube';
import type { Clock, Logger, Timer } from '@sandlot/std';

/** In a burst of claims all of them wait for their turn. */
const PATIENTLY = { priority: 'background', deadlineMs: 60_000 } as const;

/** For each claim that waits: noting what they were given begins at ten writes a second. */
const PER_CLAIM_MS = 100;

/** However many others wait, the turn of a claim's annotations comes after this long; then the client's gate paces them. */
const LONGEST_MS = 5_000;

export interface WriteBehindDeps {
  readonly client: Pick<KubeClient, 'mergePatch'>;
  readonly clock: Clock;
  readonly log: Logger;
  /** How long the annotations of a claim are gathered before they are written, milliseconds; with many, {@link PER_CLAIM_MS}. */
  readonly windowMs: number;
  /** Called for a claim whose annotations could not be written: the next pass derives them again. */
  readonly onFailure: (claimKey: string) => void;
}

type Notes = Readonly<Record<string, string>>;

interface Pending {
  readonly claim: SandboxClaim;
  readonly notes: Notes;
  readonly timer: Timer;
}

/** Old releases noted the Sandbox as a label: what is written now takes it away. */
function hasLegacyLabel({ metadata }: SandboxClaim): boolean {
  return metadata.labels?.[annotations.sandboxName] !== undefined;
}

function withoutLegacy(claim: SandboxClaim): { labels?: Record<string, null> } {
  return hasLegacyLabel(claim) ? { labels: { [annotations.sandboxName]: null } } : {};
}

/**
 * Bookkeeping annotations of claims, off the latency path: gathered for a moment, then one patch per claim at the lowest
 * priority. The more claims come, the longer that is: on a busy server these writes would take its time from the claims,
 * and those that live for seconds are gone before anybody reads what was noted. If the process dies first, the next pass
 * over the claim finds them missing and writes them.
 */
export class WriteBehind {
  readonly #deps: WriteBehindDeps;
  /** By claim UID. */
  readonly #pending = new Map<string, Pending>();
  /** Written, and not shown by the watch yet. */
  readonly #written = new Map<string, Notes>();
  readonly #writing = new Set<Promise<void>>();

  constructor(deps: WriteBehindDeps) {
    this.#deps = deps;
  }

  /** Makes the claim carry these annotations soon. Those that it carries, or is about to, cost nothing. */
  schedule(claim: SandboxClaim, wanted: Notes): void {
    const { uid = '', annotations: present = {} } = claim.metadata;
    const before = this.#pending.get(uid);
    const known: Notes = { ...present, ...this.#written.get(uid), ...before?.notes };
    const missing = Object.entries(wanted).filter(([name, value]) => known[name] !== value);
    if (missing.length === 0 && (!hasLegacyLabel(claim) || this.#written.has(uid))) return;
    const notes = { ...before?.notes, ...Object.fromEntries(missing) };
    const timer = before?.timer ?? this.#deps.clock.setTimeout(() => this.#start(uid), this.#windowMs());
    this.#pending.set(uid, { claim, notes, timer });
  }

  /** The watch shows the claim so. */
  shown({ metadata: { uid = '', annotations: present = {} } }: SandboxClaim): void {
    const written = Object.entries(this.#written.get(uid) ?? {});
    if (written.every(([name, value]) => present[name] === value)) this.#written.delete(uid);
  }

  /** The claim is gone. */
  forget({ metadata: { uid = '' } }: SandboxClaim): void {
    this.#pending.get(uid)?.timer.cancel();
    this.#pending.delete(uid);
    this.#written.delete(uid);
  }

  /** Writes what is waiting without waiting longer; resolves when all of it was tried. */
  async flush(): Promise<void> {
    for (const uid of [...this.#pending.keys()]) this.#start(uid);
    await Promise.all(this.#writing);
  }

  #windowMs(): number {
    const fairMs = Math.min((this.#pending.size + 1) * PER_CLAIM_MS, LONGEST_MS);
    return Math.max(this.#deps.windowMs, fairMs);
  }

  #start(uid: string): void {
    const pending = this.#pending.get(uid);
    if (pending === undefined) return;
    pending.timer.cancel();
    this.#pending.delete(uid);
    const writing = this.#write(pending).finally(() => this.#writing.delete(writing));
    this.#writing.add(writing);
  }

  async #write({ claim, notes }: Pending): Promise<void> {
    const { namespace, name = '', uid = '' } = claim.metadata;
    this.#written.set(uid, { ...this.#written.get(uid), ...notes });
    try {
      const patch = { metadata: { uid, annotations: notes, ...withoutLegacy(claim) } };
      await this.#deps.client.mergePatch(sandboxClaims, { namespace, name }, patch, PATIENTLY);
    } catch (error) {
      this.#written.delete(uid);
      // Gone, or another claim bears the name now: there is nothing left to note.
      if (isNotFound(error) || isConflict(error)) return;
      this.#deps.log.warn({ err: error, claim: keyOf(claim) }, 'annotations of a claim could not be written yet');
      this.#deps.onFailure(keyOf(claim));
    }
  }
}
