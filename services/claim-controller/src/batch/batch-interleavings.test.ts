import { sandboxClaims, sandboxes } from '@sandlot/api-types';
import type { Sandbox, SandboxClaim } from '@sandlot/api-types';
import type { RequestRecord } from '@sandlot/kube-testkit';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { happening, Run, troubles } from '../../test/happenings.ts';
import type { Happening } from '../../test/happenings.ts';
import { ClaimHarness } from '../../test/harness.ts';

const REPLICAS = 4;
const BATCHES = ['a', 'b'] as const;
const BOUND = ['x', 'y'] as const;

const key = (name: string) => ({ namespace: 'default', name });
const getMarks = ({ metadata }: Sandbox): Record<string, string> => metadata.labels ?? {};

/** Checks every commit of the API server, by any writer, for slots in states that must never occur. */
class Referee {
  readonly #harness: ClaimHarness;
  /** The claim's UID, with the slot of a batch, by Sandbox; entries are never removed. */
  readonly #holderOf = new Map<string, string>();
  /** The Sandbox name of each published slot; entries are never removed. */
  readonly #shownAs = new Map<string, string>();
  /** Sandboxes that users deleted. */
  readonly deleted = new Set<string>();
  readonly fouls: string[] = [];

  constructor(harness: ClaimHarness) {
    this.#harness = harness;
    harness.api.onChange(sandboxes, ({ name }) => this.#checkSandbox(harness.sandbox(name)));
    harness.api.onChange(sandboxClaims, ({ name }) => this.#checkClaim(harness.api.object(sandboxClaims, key(name))));
  }

  #checkSandbox(sandbox: Sandbox | undefined): void {
    const holder = sandbox === undefined ? undefined : findHolder(sandbox);
    if (sandbox === undefined || holder === undefined) return;
    const { uid = '', name = '', ownerReferences = [] } = sandbox.metadata;
    if (holder.includes('/') && ownerReferences.length > 0) this.fouls.push(`${name} is in a slot and has an owner`);
    this.#remember(this.#holderOf, uid, holder);
  }

  #checkClaim({ metadata, status }: Pick<SandboxClaim, 'metadata' | 'status'> = { metadata: {} }): void {
    const shown = status?.sandboxes ?? [];
    if (shown.length > REPLICAS) this.fouls.push(`a batch shows ${shown.length} Sandboxes`);
    for (const { name, slot } of shown) {
      this.#remember(this.#shownAs, `${metadata.uid ?? ''}/${slot ?? 0}`, name);
    }
  }

  #remember(records: Map<string, string>, of: string, value: string): void {
    const before = records.get(of) ?? value;
    if (before !== value) this.fouls.push(`${of} was ${before} and then ${value}`);
    records.set(of, before);
  }

  /** Published Sandboxes that are gone although no user deleted them. */
  lost(): string[] {
    return [...this.#shownAs.values()].filter(
      (name) => !this.deleted.has(name) && this.#harness.sandbox(name) === undefined,
    );
  }
}

/** UID of the claim that has the Sandbox, with the slot of a batch. */
function findHolder(sandbox: Sandbox): string | undefined {
  const { 'agents.x-k8s.io/claim-uid': claimUid, 'sandlot.dev/claim-slot': slot } = getMarks(sandbox);
  return claimUid === undefined || slot === undefined ? claimUid : `${claimUid}/${slot}`;
}

/** Every name is used once, so that the Sandboxes of a deleted batch are distinguishable. */
function happenings(referee: () => Referee): fc.Arbitrary<Happening> {
  const create = fc.constantFrom(...BATCHES, ...BOUND).map((name) =>
    happening(`claim ${name}`, ({ harness, wanted }) => {
      if (wanted.has(name) || harness.sandbox(name) !== undefined) return;
      const isBatch = BATCHES.some((batch) => batch === name);
      harness.claim(name, isBatch ? { replicas: REPLICAS, claimTimeout: '10h' } : {});
      wanted.add(name);
    }),
  );
  const deleteDelivered = fc.tuple(fc.constantFrom(...BATCHES), fc.nat(REPLICAS - 1)).map(([name, index]) =>
    happening(`delete what ${name} shows at ${index}`, ({ harness }) => {
      const delivered = harness.getStatus(name).sandboxes?.[index]?.name;
      if (delivered === undefined || harness.sandbox(delivered) === undefined) return;
      referee().deleted.add(delivered);
      harness.api.remove(sandboxes, key(delivered));
    }),
  );
  const remove = fc.constantFrom(...BATCHES).map((name) =>
    happening(`delete claim ${name}`, ({ harness, wanted, removed }) => {
      if (!wanted.has(name) || removed.has(name)) return;
      removed.add(name);
      harness.api.remove(sandboxClaims, key(name));
    }),
  );
  return fc.oneof(
    { arbitrary: create, weight: 5 },
    { arbitrary: deleteDelivered, weight: 1 },
    { arbitrary: remove, weight: 1 },
    ...troubles,
  );
}

/** Every write so far, with its user and result. */
function getWrites(harness: ClaimHarness): string {
  const line = ({ user, verb, resource, subresource, ...request }: RequestRecord): string =>
    `${user} ${verb} ${resource}/${subresource} ${request.key} ${request.code} ${JSON.stringify(request.body)}`;
  return harness.api.writes().map(line).join('\n');
}

function expectServed(harness: ClaimHarness, name: string, deleted: ReadonlySet<string>): void {
  expect(harness.isReady(name), name).toBe(true);
  if (BOUND.some((bound) => bound === name)) {
    expect(harness.owned().get(name)).toEqual([harness.getStatus(name).sandbox?.name]);
    return;
  }
  const shown = (harness.getStatus(name).sandboxes ?? []).map(({ slot, name: sandbox }) => [slot, sandbox] as const);
  expect(shown.map(([slot]) => slot)).toEqual(Array.from({ length: REPLICAS }, (_, slot) => slot));
  const live = [...harness.slots(name)].flatMap(([slot, names]) => names.map((each) => [slot, each] as const));
  expect(live.sort(([a], [b]) => a - b)).toEqual(shown.filter(([, sandbox]) => !deleted.has(sandbox)));
}

it('fills every slot once and loses no published Sandbox under random faults, with batches and claims side by side', async () => {
  let referee: Referee | undefined;
  const current = (): Referee => {
    if (referee === undefined) throw new Error('nothing has begun');
    return referee;
  };
  await fc.assert(
    fc.asyncProperty(
      fc.nat(10),
      fc.array(happenings(current), { minLength: 5, maxLength: 25 }),
      async (members, history) => {
        await using harness = await ClaimHarness.start({ members });
        harness.makeAllReady();
        referee = new Referee(harness);
        const run = new Run(harness);
        for (const happen of history) await happen(run);
        harness.api.faults.clear();
        await run.ensureController();
        await harness.eventually(() => {
          for (const name of run.wanted) if (!run.removed.has(name)) expectServed(harness, name, current().deleted);
        });
        const lost = referee.lost();
        // A failure prints all writes, since one of them deleted the lost Sandbox.
        expect(lost, lost.length === 0 ? '' : getWrites(harness)).toEqual([]);
        expect(referee.fouls).toEqual([]);
      },
    ),
    { numRuns: 25, interruptAfterTimeLimit: 10_000 },
  );
}, 25_000);
