import { sandboxClaims, sandboxes } from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';
import type { ObjectMeta } from '@sandlot/kube';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Run, troubles } from '../../test/happenings.ts';
import type { Happening } from '../../test/happenings.ts';
import { ClaimHarness } from '../../test/harness.ts';

const CLAIMS = 6;
const key = (name: string) => ({ namespace: 'default', name });

/** Checks every commit of the API server, by any writer, for states that must never occur. */
class Referee {
  readonly #harness: ClaimHarness;
  /** Claim UID by Sandbox UID; entries are never removed. */
  readonly #givenTo = new Map<string, string>();
  /** UID of the Sandbox that each claim shows, by claim UID. */
  readonly #shown = new Map<string, string>();
  readonly fouls: string[] = [];

  constructor(harness: ClaimHarness) {
    this.#harness = harness;
    harness.api.onChange(sandboxes, ({ name }) => this.#checkSandbox(harness.sandbox(name)));
    harness.api.onChange(sandboxClaims, ({ name }) => this.#checkClaim(name));
  }

  #checkSandbox(sandbox: Sandbox | undefined): void {
    if (sandbox === undefined) return;
    const { uid = '', name = '', ownerReferences = [] } = sandbox.metadata;
    const owners = ownerReferences.filter(({ kind }) => kind === 'SandboxClaim');
    if (owners.length > 1) this.fouls.push(`${name} has two owners`);
    for (const owner of owners) {
      const before = this.#givenTo.get(uid) ?? owner.uid;
      if (before !== owner.uid) this.fouls.push(`${name} was bound twice`);
      this.#givenTo.set(uid, before);
    }
  }

  #checkClaim(name: string): void {
    const claim = this.#harness.api.object(sandboxClaims, key(name));
    const shown = this.#harness.sandbox(claim?.status?.sandbox?.name ?? '');
    if (claim !== undefined && shown !== undefined) this.#checkShown(claim.metadata, shown.metadata);
  }

  #checkShown({ name = '', uid: claimUid = '' }: ObjectMeta, { uid = '', ownerReferences = [] }: ObjectMeta): void {
    if (ownerReferences[0]?.uid !== claimUid) this.fouls.push(`${name} shows what is not its own`);
    const before = this.#shown.get(claimUid) ?? uid;
    if (before !== uid && this.#exists(before)) this.fouls.push(`${name} was given a second Sandbox`);
    this.#shown.set(claimUid, uid);
  }

  #exists(sandboxUid: string): boolean {
    return this.#harness.api.objects(sandboxes).some(({ metadata }) => metadata.uid === sandboxUid);
  }
}

const claimName = fc.nat(CLAIMS - 1).map((index) => `c${index}`);
const create = claimName.map((name): Happening => ({ harness, wanted }) => {
  if (wanted.has(name) || harness.sandbox(name) !== undefined) return;
  harness.claim(name);
  wanted.add(name);
});
const remove = claimName.map((name): Happening => ({ harness, wanted }) => {
  if (wanted.delete(name)) harness.api.remove(sandboxClaims, key(name));
});
const deleteSandbox = claimName.map((name): Happening => ({ harness }) => {
  const [owned] = harness.owned().get(name) ?? [];
  if (owned !== undefined) harness.api.remove(sandboxes, key(owned));
});
const happening = fc.oneof(
  { arbitrary: create, weight: 6 },
  { arbitrary: remove, weight: 1 },
  { arbitrary: deleteSandbox, weight: 1 },
  ...troubles,
);

it('binds every claim once through crashes, two leaders, lost answers, silent watches and deletions', async () => {
  await fc.assert(
    fc.asyncProperty(fc.nat(4), fc.array(happening, { minLength: 5, maxLength: 25 }), async (members, happenings) => {
      await using harness = await ClaimHarness.start({ members });
      harness.makeAllReady();
      const referee = new Referee(harness);
      const run = new Run(harness);
      for (const happen of happenings) await happen(run);
      harness.api.faults.clear();
      await run.ensureController();
      await harness.eventually(() => {
        for (const name of run.wanted) {
          expect(harness.isReady(name), name).toBe(true);
          expect(harness.owned().get(name)).toEqual([harness.getStatus(name).sandbox?.name]);
        }
        expect([...harness.owned().keys()].sort()).toEqual([...run.wanted].sort());
      });
      expect(referee.fouls).toEqual([]);
    }),
    { numRuns: 25, interruptAfterTimeLimit: 8_000 },
  );
}, 20_000);
