import { sandboxClaims, sandboxes } from '@sandlot/api-types';
import type { Sandbox, SandboxClaim } from '@sandlot/api-types';
import type { RequestRecord } from '@sandlot/kube-testkit';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { happening, Run, troubles } from '../../test/happenings.ts';
import type { Happening } from '../../test/happenings.ts';
import { ClaimWorld } from '../../test/harness.ts';

const REPLICAS = 4;
const BATCHES = ['a', 'b'] as const;
const BOUND = ['x', 'y'] as const;

const key = (name: string) => ({ namespace: 'default', name });
const marksOf = ({ metadata }: Sandbox): Record<string, string> => metadata.labels ?? {};

/** Watches every commit of the API server for what must never happen to slots, whoever writes. */
class Referee {
  readonly #world: ClaimWorld;
  /** Whose each Sandbox is, for ever: a claim's UID, with the slot of a batch. */
  readonly #holderOf = new Map<string, string>();
  /** Name that each slot was shown under, for ever. */
  readonly #shownAs = new Map<string, string>();
  /** What users did away with. */
  readonly deleted = new Set<string>();
  readonly fouls: string[] = [];

  constructor(world: ClaimWorld) {
    this.#world = world;
    world.api.onChange(sandboxes, ({ name }) => this.#checkSandbox(world.sandbox(name)));
    world.api.onChange(sandboxClaims, ({ name }) => this.#checkClaim(world.api.object(sandboxClaims, key(name))));
  }

  #checkSandbox(sandbox: Sandbox | undefined): void {
    const holder = sandbox === undefined ? undefined : holderOf(sandbox);
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

  /** Every Sandbox that was ever shown in a slot, and that nobody deleted, is still there. */
  lost(): string[] {
    return [...this.#shownAs.values()].filter(
      (name) => !this.deleted.has(name) && this.#world.sandbox(name) === undefined,
    );
  }
}

/** UID of the claim that a Sandbox was given to, with the slot of a batch. */
function holderOf(sandbox: Sandbox): string | undefined {
  const { 'agents.x-k8s.io/claim-uid': claimUid, 'sandlot.dev/claim-slot': slot } = marksOf(sandbox);
  return claimUid === undefined || slot === undefined ? claimUid : `${claimUid}/${slot}`;
}

/** A name is used once, so that what is left of a deleted batch is told apart. */
function happenings(referee: () => Referee): fc.Arbitrary<Happening> {
  const create = fc.constantFrom(...BATCHES, ...BOUND).map((name) =>
    happening(`claim ${name}`, ({ world, wanted }) => {
      if (wanted.has(name) || world.sandbox(name) !== undefined) return;
      const isBatch = BATCHES.some((batch) => batch === name);
      world.claim(name, isBatch ? { replicas: REPLICAS, claimTimeout: '10h' } : {});
      wanted.add(name);
    }),
  );
  const deleteDelivered = fc.tuple(fc.constantFrom(...BATCHES), fc.nat(REPLICAS - 1)).map(([name, index]) =>
    happening(`delete what ${name} shows at ${index}`, ({ world }) => {
      const delivered = world.statusOf(name).sandboxes?.[index]?.name;
      if (delivered === undefined || world.sandbox(delivered) === undefined) return;
      referee().deleted.add(delivered);
      world.api.remove(sandboxes, key(delivered));
    }),
  );
  const remove = fc.constantFrom(...BATCHES).map((name) =>
    happening(`delete claim ${name}`, ({ world, wanted, removed }) => {
      if (!wanted.has(name) || removed.has(name)) return;
      removed.add(name);
      world.api.remove(sandboxClaims, key(name));
    }),
  );
  return fc.oneof(
    { arbitrary: create, weight: 5 },
    { arbitrary: deleteDelivered, weight: 1 },
    { arbitrary: remove, weight: 1 },
    ...troubles,
  );
}

/** Every write so far: who, what, and how it ended. */
function writesOf(world: ClaimWorld): string {
  const line = ({ user, verb, resource, subresource, ...request }: RequestRecord): string =>
    `${user} ${verb} ${resource}/${subresource} ${request.key} ${request.code} ${JSON.stringify(request.body)}`;
  return world.api.writes().map(line).join('\n');
}

function expectServed(world: ClaimWorld, name: string, deleted: ReadonlySet<string>): void {
  expect(world.isReady(name), name).toBe(true);
  if (BOUND.some((bound) => bound === name)) {
    expect(world.owned().get(name)).toEqual([world.statusOf(name).sandbox?.name]);
    return;
  }
  const shown = (world.statusOf(name).sandboxes ?? []).map(({ slot, name: sandbox }) => [slot, sandbox] as const);
  expect(shown.map(([slot]) => slot)).toEqual(Array.from({ length: REPLICAS }, (_, slot) => slot));
  const live = [...world.slots(name)].flatMap(([slot, names]) => names.map((each) => [slot, each] as const));
  expect(live.sort(([a], [b]) => a - b)).toEqual(shown.filter(([, sandbox]) => !deleted.has(sandbox)));
}

it('fills every slot once and loses nothing it has shown, whatever happens to batches and claims side by side', async () => {
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
        await using world = await ClaimWorld.start({ members });
        world.makeAllReady();
        referee = new Referee(world);
        const run = new Run(world);
        for (const happen of history) await happen(run);
        world.api.faults.clear();
        await run.ensureController();
        await world.eventually(() => {
          for (const name of run.wanted) if (!run.removed.has(name)) expectServed(world, name, current().deleted);
        });
        const lost = referee.lost();
        // Told with what was asked of the API server: what was lost was deleted by somebody.
        expect(lost, lost.length === 0 ? '' : writesOf(world)).toEqual([]);
        expect(referee.fouls).toEqual([]);
      },
    ),
    { numRuns: 25, interruptAfterTimeLimit: 10_000 },
  );
}, 25_000);
