import { findCondition, sandboxes } from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';
import type { FaultAnswer, RequestMatch } from '@sandlot/kube-testkit';
import type { TestController } from '@sandlot/service-testkit';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { PoolWorld } from '../test/pool-harness.ts';

const MAX_TARGET = 6;
const MAX_SURGE = 1;
const STRATEGY = { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 1, maxSurge: MAX_SURGE } } as const;

/** A pool, the two controllers that may each believe to lead, and what must never happen to a Sandbox. */
class Run {
  readonly world: PoolWorld;
  readonly #leaders: (TestController | undefined)[] = [undefined, undefined];
  /** How often a controller began without knowing what others had under way. */
  starts = 0;
  mostMembers = 0;
  /** UIDs of all Sandboxes there ever were, and of those that claims took. */
  readonly #born = new Set<string>();
  readonly #claimed = new Map<string, string>();
  #removedByUser = 0;
  readonly fouls: string[] = [];

  constructor(world: PoolWorld) {
    this.world = world;
    world.makePodsReady();
    world.api.onChange(sandboxes, (key) => this.#referee(key.name));
  }

  async toggle(index: number): Promise<void> {
    const running = this.#leaders[index];
    this.#leaders[index] = undefined;
    if (running !== undefined) return this.world.kill(running);
    this.starts += 1;
    this.#leaders[index] = this.world.startController(`leader-${index}`);
  }

  async ensureLeader(): Promise<void> {
    if (this.#leaders.every((leader) => leader === undefined)) await this.toggle(0);
  }

  member(pick: number): Sandbox | undefined {
    const living = this.world.members().filter(({ metadata }) => metadata.deletionTimestamp === undefined);
    return living[pick % Math.max(1, living.length)];
  }

  adopt(pick: number): void {
    const member = this.member(pick);
    if (member === undefined) return;
    this.#claimed.set(member.metadata.name ?? '', member.metadata.uid ?? '');
    this.world.adopt(member);
  }

  remove(pick: number): void {
    const name = this.member(pick)?.metadata.name;
    if (name === undefined) return;
    this.#removedByUser += 1;
    this.world.api.remove(sandboxes, { namespace: 'default', name });
  }

  #referee(name: string): void {
    const sandbox = this.world.api.object(sandboxes, { namespace: 'default', name });
    if (sandbox !== undefined) this.#born.add(sandbox.metadata.uid ?? '');
    this.mostMembers = Math.max(this.mostMembers, this.world.members().length);
    const claimedUid = this.#claimed.get(name);
    if (claimedUid !== undefined) this.#refereeClaimed(name, claimedUid, sandbox?.metadata);
  }

  #refereeClaimed(name: string, claimedUid: string, now: Sandbox['metadata'] | undefined): void {
    if (now?.uid !== claimedUid) this.fouls.push(`${name} was claimed, and is gone`);
    else if (now.ownerReferences?.[0]?.kind !== 'SandboxClaim') this.fouls.push(`${name} was taken back`);
    if (now?.deletionTimestamp !== undefined) this.fouls.push(`${name} was claimed, and is being deleted`);
  }

  expectSettled(): void {
    const { spec, status } = this.world.pool();
    const members = this.world.members();
    const ready = members.filter((member) => findCondition(member.status?.conditions, 'Ready')?.status === 'True');
    expect([members.length, ready.length]).toEqual([spec.replicas, spec.replicas]);
    const counts = { replicas: members.length, readyReplicas: members.length, updatedReplicas: members.length };
    expect(status).toMatchObject({ ...counts, inUse: this.#claimed.size });
  }

  /** Every Sandbox that ever was is a member, is claimed, or was deleted by somebody: none is lost, none is counted twice. */
  expectConserved(): void {
    const present = this.world.api.objects(sandboxes).map(({ metadata }) => metadata.uid ?? '');
    const members = this.world.members().length;
    expect(present).toHaveLength(members + this.#claimed.size);
    expect(present.every((uid) => this.#born.has(uid))).toBe(true);
    const gone = this.#born.size - present.length;
    const deletions = this.world.writes().filter((write) => write === 'delete sandboxes').length;
    expect(gone).toBeLessThanOrEqual(deletions + this.#removedByUser);
    expect(this.fouls).toEqual([]);
  }
}

type Happening = (run: Run) => Promise<void> | void;

const target = fc.constantFrom<RequestMatch>(
  { verb: 'create', resource: 'sandboxes' },
  { verb: 'delete', resource: 'sandboxes' },
  { verb: 'patch', resource: 'sandboxwarmpools', subresource: 'status' },
);
const answer = fc.constantFrom<FaultAnswer>({ status: 500 }, { status: 503 }, { status: 409 }, 'reset');
const watched = { resource: 'sandboxes' };
const pick = fc.nat(20);
const faultOf = (arm: (run: Run, fault: { match: RequestMatch; answer: FaultAnswer }) => void) =>
  fc.record({ match: target, answer }).map(
    (fault): Happening =>
      (run) =>
        arm(run, fault),
  );

const happening = fc.oneof(
  {
    arbitrary: fc.constantFrom(0, 10, 100, 400).map(
      (ms): Happening =>
        ({ world }) =>
          world.elapse(ms),
    ),
    weight: 5,
  },
  {
    arbitrary: fc.constantFrom(0, 1).map(
      (index): Happening =>
        (run) =>
          run.toggle(index),
    ),
    weight: 4,
  },
  {
    arbitrary: pick.map(
      (index): Happening =>
        (run) =>
          run.adopt(index),
    ),
    weight: 4,
  },
  pick.map(
    (index): Happening =>
      (run) =>
        run.remove(index),
  ),
  fc.nat(MAX_TARGET).map(
    (replicas): Happening =>
      ({ world }) =>
        world.scaleTo(replicas),
  ),
  fc.nat(3).map(
    (version): Happening =>
      ({ world }) =>
        world.changeImage(`image:${version}`),
  ),
  faultOf(({ world }, fault) => world.api.faults.errorAfterCommit(fault)),
  faultOf(({ world }, fault) => world.api.faults.failNext(fault)),
  fc.constantFrom<Happening>(
    ({ world }) => void world.api.faults.stallWatches(watched),
    ({ world }) => world.api.faults.dropWatches(watched),
    ({ world }) => world.api.faults.rewindWatches(3, watched),
    ({ world }) => world.api.faults.clear(),
  ),
);

it('with two leaders at once, stale caches, crashes between writes and claims that adopt meanwhile, a pool ends at its size and no Sandbox is lost', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(happening, { minLength: 5, maxLength: 30 }), async (happenings) => {
      await using world = await PoolWorld.start();
      const run = new Run(world);
      world.createPool(3, { updateStrategy: STRATEGY });
      await run.toggle(0);
      for (const happen of happenings) await happen(run);
      world.api.faults.clear();
      await run.ensureLeader();
      await world.eventually(() => run.expectSettled());
      await world.elapse(1_000);
      run.expectSettled();
      run.expectConserved();
      // Each start may overlook one pool's worth that another one has under way; nothing else makes a pool too large.
      expect(run.mostMembers).toBeLessThanOrEqual((MAX_TARGET + MAX_SURGE) * run.starts);
    }),
    { numRuns: 20, interruptAfterTimeLimit: 40_000 },
  );
}, 60_000);

it('two leaders that see each other work never make a pool larger than twice its size, and soon agree on it', async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 30 }), fc.nat(300), async (replicas, apartMs) => {
      await using world = await PoolWorld.start();
      const run = new Run(world);
      world.createPool(replicas, { updateStrategy: STRATEGY });
      await run.toggle(0);
      await world.elapse(apartMs);
      await run.toggle(1);
      await world.eventually(() => run.expectSettled());
      // What the status says about progress follows a moment later.
      await world.elapse(2_000);
      const writes = world.writes().length;
      await world.elapse(5_000);
      run.expectSettled();
      run.expectConserved();
      expect(run.mostMembers).toBeLessThanOrEqual(2 * replicas);
      expect(world.writes().slice(writes)).toEqual([]);
    }),
    { numRuns: 10, interruptAfterTimeLimit: 20_000 },
  );
}, 40_000);
