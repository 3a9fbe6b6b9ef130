import { findCondition, sandboxes } from '@sandlot/api-types';
import type { Sandbox, SandboxWarmPool } from '@sandlot/api-types';
import type { TestController } from '@sandlot/service-testkit';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { PoolWorld } from '../test/pool-harness.ts';

const CREATE = { verb: 'create', resource: 'sandboxes' } as const;
const LOST = { reset: 'reset', error: { status: 500 } } as const;
const MAX_SURGE = 2;
const MAX_TARGET = 6;

/** Anything that may happen to a pool, in any order. */
type Action =
  | { readonly kind: 'adopt' | 'deleteMember' | 'finish' | 'orphan'; readonly pick: number }
  | { readonly kind: 'scale'; readonly replicas: number }
  | { readonly kind: 'template'; readonly version: number }
  | { readonly kind: 'lostAnswer'; readonly answer: 'reset' | 'error'; readonly times: number }
  | { readonly kind: 'crash' | 'stall' | 'resume' | 'dropWatches' }
  | { readonly kind: 'pass'; readonly ms: number };

const action: fc.Arbitrary<Action> = fc.oneof(
  fc.record({
    kind: fc.constantFrom(
      'adopt' as const,
      'adopt' as const,
      'deleteMember' as const,
      'finish' as const,
      'orphan' as const,
    ),
    pick: fc.nat(20),
  }),
  fc.record({ kind: fc.constant('scale' as const), replicas: fc.nat(MAX_TARGET) }),
  fc.record({ kind: fc.constant('template' as const), version: fc.nat(3) }),
  fc.record({
    kind: fc.constant('lostAnswer' as const),
    answer: fc.constantFrom('reset' as const, 'error' as const),
    times: fc.integer({ min: 1, max: 3 }),
  }),
  fc.record({ kind: fc.constantFrom('crash' as const, 'stall' as const, 'resume' as const, 'dropWatches' as const) }),
  fc.record({ kind: fc.constant('pass' as const), ms: fc.integer({ min: 1, max: 400 }) }),
);

/** A pool whose every moment is watched. */
class Run implements AsyncDisposable {
  readonly #world: PoolWorld;
  #controller: TestController;
  #stall: Disposable | undefined;
  /** Sandboxes claims have taken, as they were then. */
  readonly #claimed = new Map<string, Sandbox>();
  /** Leaders a crash may leave behind make a pool larger by what they have under way. */
  mostMembers = 0;

  private constructor(world: PoolWorld, spec: Partial<SandboxWarmPool['spec']>) {
    this.#world = world;
    world.makePodsReady();
    world.createPool(3, spec);
    this.#controller = world.startController();
    world.api.onChange(sandboxes, () => (this.mostMembers = Math.max(this.mostMembers, world.members().length)));
  }

  static async start(spec: Partial<SandboxWarmPool['spec']>): Promise<Run> {
    return new Run(await PoolWorld.start(), spec);
  }

  async take(next: Action): Promise<void> {
    const world = this.#world;
    switch (next.kind) {
      case 'scale':
        world.scaleTo(next.replicas);
        break;
      case 'template':
        world.changeImage(`image:${next.version}`);
        break;
      case 'lostAnswer':
        world.api.faults.errorAfterCommit({ match: CREATE, answer: LOST[next.answer], times: next.times });
        break;
      case 'crash':
        await world.kill(this.#controller);
        this.#controller = world.startController();
        break;
      case 'stall':
      case 'resume':
      case 'dropWatches':
        this.#disturb(next.kind);
        break;
      case 'pass':
        await world.elapse(next.ms);
        break;
      default:
        this.#befall(next.kind, next.pick);
    }
  }

  #disturb(kind: 'stall' | 'resume' | 'dropWatches'): void {
    const { faults } = this.#world.api;
    if (kind === 'stall') this.#stall ??= faults.stallWatches({ resource: 'sandboxes' });
    else if (kind === 'resume') this.#resume();
    else faults.dropWatches({ resource: 'sandboxes' });
  }

  #resume(): void {
    this.#stall?.[Symbol.dispose]();
    this.#stall = undefined;
  }

  /** Something happens to one of the members. */
  #befall(kind: 'adopt' | 'deleteMember' | 'finish' | 'orphan', pick: number): void {
    const members = this.#world.members().filter(({ metadata }) => metadata.deletionTimestamp === undefined);
    const member = members[pick % Math.max(1, members.length)];
    if (member === undefined) return;
    const key = { namespace: 'default', name: member.metadata.name ?? '' };
    if (kind === 'adopt') {
      this.#world.adopt(member);
      this.#claimed.set(key.name, member);
    } else if (kind === 'deleteMember') this.#world.api.remove(sandboxes, key);
    else if (kind === 'finish') this.#world.finish(key.name);
    else this.#world.api.change(sandboxes, key, ({ metadata }) => void (metadata.ownerReferences = []));
  }

  /** All faults end; then everything is as it should be, and stays so. */
  async settles(): Promise<void> {
    const world = this.#world;
    this.#resume();
    world.api.faults.clear();
    await world.eventually(() => this.#expectSettled());
    await world.elapse(1_000);
    this.#expectSettled();
  }

  #expectSettled(): void {
    const { spec, status } = this.#world.pool();
    const members = this.#world.members();
    expect(members).toHaveLength(spec.replicas ?? 1);
    const ready = members.filter((member) => findCondition(member.status?.conditions, 'Ready')?.status === 'True');
    expect(ready).toHaveLength(members.length);
    expect(status).toMatchObject({
      replicas: members.length,
      readyReplicas: members.length,
      inUse: this.#claimed.size,
    });
    if (spec.updateStrategy?.type !== 'OnReplenish') expect(status?.updatedReplicas).toBe(members.length);
    for (const [name, { metadata }] of this.#claimed) {
      const now = this.#world.api.object(sandboxes, { namespace: 'default', name });
      expect(now?.metadata.uid).toBe(metadata.uid);
      expect(now?.metadata.ownerReferences?.[0]?.kind).toBe('SandboxClaim');
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#world[Symbol.asyncDispose]();
  }
}

it.each(['RollingUpdate', 'Recreate', 'OnReplenish'] as const)(
  'whatever happens in whatever order, a pool under %s ends at its size, never far above it, and no claimed Sandbox is touched',
  async (type) => {
    const rollingUpdate = { maxUnavailable: 1, maxSurge: MAX_SURGE };
    const spec = { updateStrategy: type === 'RollingUpdate' ? { type, rollingUpdate } : { type } };
    await fc.assert(
      fc.asyncProperty(fc.array(action, { minLength: 5, maxLength: 25 }), async (actions) => {
        await using run = await Run.start(spec);
        for (const next of actions) await run.take(next);
        await run.settles();
        const crashes = actions.filter(({ kind }) => kind === 'crash').length;
        // A process that dies leaves one wave behind that its successor may not see yet.
        expect(run.mostMembers).toBeLessThanOrEqual((MAX_TARGET + MAX_SURGE) * (1 + crashes));
      }),
      { numRuns: 12 },
    );
  },
  60_000,
);

it('without crashes a pool is never larger than its largest target and its surge, whatever the watch shows', async () => {
  const updateStrategy = { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 1, maxSurge: MAX_SURGE } } as const;
  const calm = action.filter(({ kind }) => kind !== 'crash' && kind !== 'scale' && kind !== 'orphan');
  await fc.assert(
    fc.asyncProperty(fc.array(calm, { minLength: 5, maxLength: 25 }), async (actions) => {
      await using run = await Run.start({ updateStrategy });
      for (const next of actions) await run.take(next);
      await run.settles();
      expect(run.mostMembers).toBeLessThanOrEqual(3 + MAX_SURGE);
    }),
    { numRuns: 12 },
  );
}, 60_000);

it('a rolling update never leaves a pool short of more Ready members than it may be', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 0, max: 2 }),
      fc.integer({ min: 0, max: 2 }),
      async (maxUnavailable, maxSurge) => {
        const rollingUpdate = { maxUnavailable, maxSurge: maxUnavailable + maxSurge === 0 ? 1 : maxSurge };
        await using world = await PoolWorld.start();
        world.makePodsReady();
        world.createPool(5, { updateStrategy: { type: 'RollingUpdate', rollingUpdate } });
        world.startController();
        await world.eventually(() => expect(world.pool().status?.readyReplicas).toBe(5));
        const [ready, all]: [number[], number[]] = [[], []];
        world.api.onChange(sandboxes, () => {
          const serving = world
            .members()
            .filter(
              ({ metadata, status }) =>
                metadata.deletionTimestamp === undefined &&
                findCondition(status?.conditions, 'Ready')?.status === 'True',
            );
          ready.push(serving.length);
          all.push(world.members().length);
        });
        world.changeImage('another');
        await world.eventually(() =>
          expect(world.pool().status).toMatchObject({ updatedReplicas: 5, readyReplicas: 5, replicas: 5 }),
        );
        expect(Math.min(...ready)).toBeGreaterThanOrEqual(5 - maxUnavailable);
        expect(Math.max(...all)).toBeLessThanOrEqual(5 + rollingUpdate.maxSurge);
      },
    ),
    { numRuns: 9 },
  );
}, 60_000);
