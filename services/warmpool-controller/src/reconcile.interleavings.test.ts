import { findCondition, sandboxes } from '@sandlot/api-types';
import type { Sandbox, SandboxWarmPool } from '@sandlot/api-types';
import type { TestController } from '@sandlot/service-testkit';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { PoolHarness } from '../test/pool-harness.ts';

const CREATE = { verb: 'create', resource: 'sandboxes' } as const;
const LOST = { reset: 'reset', error: { status: 500 } } as const;
const MAX_SURGE = 2;
const MAX_TARGET = 6;

/** What may happen to a pool, in any order. */
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

/** A pool under test; records its largest size. */
class Run implements AsyncDisposable {
  readonly #harness: PoolHarness;
  #controller: TestController;
  #stall: Disposable | undefined;
  /** The Sandboxes that claims adopted, as they were before. */
  readonly #claimed = new Map<string, Sandbox>();
  mostMembers = 0;

  private constructor(harness: PoolHarness, spec: Partial<SandboxWarmPool['spec']>) {
    this.#harness = harness;
    harness.makePodsReady();
    harness.createPool(3, spec);
    this.#controller = harness.startController();
    harness.api.onChange(sandboxes, () => (this.mostMembers = Math.max(this.mostMembers, harness.members().length)));
  }

  static async start(spec: Partial<SandboxWarmPool['spec']>): Promise<Run> {
    return new Run(await PoolHarness.start(), spec);
  }

  async perform(next: Action): Promise<void> {
    const harness = this.#harness;
    switch (next.kind) {
      case 'scale':
        harness.scaleTo(next.replicas);
        break;
      case 'template':
        harness.changeImage(`image:${next.version}`);
        break;
      case 'lostAnswer':
        harness.api.faults.errorAfterCommit({ match: CREATE, answer: LOST[next.answer], times: next.times });
        break;
      case 'crash':
        await harness.kill(this.#controller);
        this.#controller = harness.startController();
        break;
      case 'stall':
      case 'resume':
      case 'dropWatches':
        this.#disturb(next.kind);
        break;
      case 'pass':
        await harness.elapse(next.ms);
        break;
      default:
        this.#changeMember(next.kind, next.pick);
    }
  }

  #disturb(kind: 'stall' | 'resume' | 'dropWatches'): void {
    const { faults } = this.#harness.api;
    if (kind === 'stall') this.#stall ??= faults.stallWatches({ resource: 'sandboxes' });
    else if (kind === 'resume') this.#resume();
    else faults.dropWatches({ resource: 'sandboxes' });
  }

  #resume(): void {
    this.#stall?.[Symbol.dispose]();
    this.#stall = undefined;
  }

  #changeMember(kind: 'adopt' | 'deleteMember' | 'finish' | 'orphan', pick: number): void {
    const members = this.#harness.members().filter(({ metadata }) => metadata.deletionTimestamp === undefined);
    const member = members[pick % Math.max(1, members.length)];
    if (member === undefined) return;
    const key = { namespace: 'default', name: member.metadata.name ?? '' };
    if (kind === 'adopt') {
      this.#harness.adopt(member);
      this.#claimed.set(key.name, member);
    } else if (kind === 'deleteMember') this.#harness.api.remove(sandboxes, key);
    else if (kind === 'finish') this.#harness.finish(key.name);
    else this.#harness.api.change(sandboxes, key, ({ metadata }) => void (metadata.ownerReferences = []));
  }

  /** Ends all faults, and waits until the pool has converged and stays so. */
  async expectConverges(): Promise<void> {
    const harness = this.#harness;
    this.#resume();
    harness.api.faults.clear();
    await harness.eventually(() => this.#expectConverged());
    await harness.elapse(1_000);
    this.#expectConverged();
  }

  #expectConverged(): void {
    const { spec, status } = this.#harness.pool();
    const members = this.#harness.members();
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
      const now = this.#harness.api.object(sandboxes, { namespace: 'default', name });
      expect(now?.metadata.uid).toBe(metadata.uid);
      expect(now?.metadata.ownerReferences?.[0]?.kind).toBe('SandboxClaim');
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#harness[Symbol.asyncDispose]();
  }
}

it.each(['RollingUpdate', 'Recreate', 'OnReplenish'] as const)(
  'a pool under %s converges to its size after any interleaving, never far above it, and leaves claimed Sandboxes alone',
  async (type) => {
    const rollingUpdate = { maxUnavailable: 1, maxSurge: MAX_SURGE };
    const spec = { updateStrategy: type === 'RollingUpdate' ? { type, rollingUpdate } : { type } };
    await fc.assert(
      fc.asyncProperty(fc.array(action, { minLength: 5, maxLength: 25 }), async (actions) => {
        await using run = await Run.start(spec);
        for (const next of actions) await run.perform(next);
        await run.expectConverges();
        const crashes = actions.filter(({ kind }) => kind === 'crash').length;
        // A process that crashes may leave one wave that its successor does not see yet.
        expect(run.mostMembers).toBeLessThanOrEqual((MAX_TARGET + MAX_SURGE) * (1 + crashes));
      }),
      { numRuns: 12 },
    );
  },
  60_000,
);

it('without crashes a pool never exceeds its target and maxSurge, whatever the watch shows', async () => {
  const updateStrategy = { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 1, maxSurge: MAX_SURGE } } as const;
  const calm = action.filter(({ kind }) => kind !== 'crash' && kind !== 'scale' && kind !== 'orphan');
  await fc.assert(
    fc.asyncProperty(fc.array(calm, { minLength: 5, maxLength: 25 }), async (actions) => {
      await using run = await Run.start({ updateStrategy });
      for (const next of actions) await run.perform(next);
      await run.expectConverges();
      expect(run.mostMembers).toBeLessThanOrEqual(3 + MAX_SURGE);
    }),
    { numRuns: 12 },
  );
}, 60_000);

it('a rolling update keeps maxUnavailable and maxSurge at every moment', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 0, max: 2 }),
      fc.integer({ min: 0, max: 2 }),
      async (maxUnavailable, maxSurge) => {
        const rollingUpdate = { maxUnavailable, maxSurge: maxUnavailable + maxSurge === 0 ? 1 : maxSurge };
        await using harness = await PoolHarness.start();
        harness.makePodsReady();
        harness.createPool(5, { updateStrategy: { type: 'RollingUpdate', rollingUpdate } });
        harness.startController();
        await harness.eventually(() => expect(harness.pool().status?.readyReplicas).toBe(5));
        const [ready, all]: [number[], number[]] = [[], []];
        harness.api.onChange(sandboxes, () => {
          const serving = harness
            .members()
            .filter(
              ({ metadata, status }) =>
                metadata.deletionTimestamp === undefined &&
                findCondition(status?.conditions, 'Ready')?.status === 'True',
            );
          ready.push(serving.length);
          all.push(harness.members().length);
        });
        harness.changeImage('another');
        await harness.eventually(() =>
          expect(harness.pool().status).toMatchObject({ updatedReplicas: 5, readyReplicas: 5, replicas: 5 }),
        );
        expect(Math.min(...ready)).toBeGreaterThanOrEqual(5 - maxUnavailable);
        expect(Math.max(...all)).toBeLessThanOrEqual(5 + rollingUpdate.maxSurge);
      },
    ),
    { numRuns: 9 },
  );
}, 60_000);
