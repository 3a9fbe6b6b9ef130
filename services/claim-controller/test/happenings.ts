import type { FaultAnswer, RequestMatch } from '@sandlot/kube-testkit';
import type { TestController } from '@sandlot/service-testkit';
import fc from 'fast-check';
import type { ClaimHarness } from './harness.ts';
import { COMMIT, PUBLISH } from './harness.ts';

/** One event of a property test. */
export type Happening = (run: Run) => Promise<void> | void;

export class Run {
  readonly harness: ClaimHarness;
  readonly wanted = new Set<string>();
  /** Wanted claims that were deleted since. */
  readonly removed = new Set<string>();
  readonly #controllers: (TestController | undefined)[] = [undefined, undefined];

  constructor(harness: ClaimHarness) {
    this.harness = harness;
  }

  async toggleController(index: number): Promise<void> {
    const running = this.#controllers[index];
    if (running === undefined) this.#controllers[index] = this.harness.startController(`leader-${index}`);
    else await this.harness.kill(running);
    if (running !== undefined) this.#controllers[index] = undefined;
  }

  async ensureController(): Promise<void> {
    if (this.#controllers.every((controller) => controller === undefined)) await this.toggleController(0);
  }
}

/** A happening with a description for the report of a failed property. */
export function happening(what: string, happen: Happening): Happening {
  return Object.assign((run: Run) => happen(run), { [fc.toStringMethod]: () => what });
}

const getText = (what: object): string => JSON.stringify(what);

const answer = fc.constantFrom<FaultAnswer>({ status: 500 }, { status: 503 }, { status: 409 }, 'reset', {
  status: 429,
});
const target = fc.constantFrom<RequestMatch>(COMMIT, PUBLISH, { verb: 'create' }, { verb: 'get' }, { verb: 'delete' });
const watched = fc.constantFrom<RequestMatch>({ resource: 'sandboxes' }, { resource: 'sandboxclaims' });

const addMember = fc.constant(happening('a new member', ({ harness }) => void harness.addMember()));
const toggle = fc
  .constantFrom(0, 1)
  .map((index) => happening(`controller ${index} starts or is killed`, (run) => run.toggleController(index)));
const failAfterCommit = fc
  .record({ match: target, answer })
  .map((fault) =>
    happening(`lost answer ${getText(fault)}`, ({ harness }) => harness.api.faults.errorAfterCommit(fault)),
  );
const fail = fc
  .record({ match: target, answer })
  .map((fault) => happening(`failure ${getText(fault)}`, ({ harness }) => harness.api.faults.failNext(fault)));
const stall = watched.map((match) =>
  happening(`silent watches ${getText(match)}`, ({ harness }) => void harness.api.faults.stallWatches(match)),
);
const drop = watched.map((match) =>
  happening(`reset watches ${getText(match)}`, ({ harness }) => harness.api.faults.dropWatches(match)),
);
const replay = fc
  .record({ events: fc.integer({ min: 1, max: 5 }), match: watched })
  .map(({ events, match }) =>
    happening(`${events} events again ${getText(match)}`, ({ harness }) =>
      harness.api.faults.rewindWatches(events, match),
    ),
  );
const heal = fc.constant(happening('faults end', ({ harness }) => harness.api.faults.clear()));
const pass = fc.constantFrom(0, 10, 100).map((ms) => happening(`${ms} ms`, ({ harness }) => harness.elapse(ms)));

/** Crashes, two leaders, lost answers, errors, silent and repeating watches, new members and time, by frequency. */
export const troubles = [
  { arbitrary: pass, weight: 5 },
  { arbitrary: toggle, weight: 3 },
  { arbitrary: failAfterCommit, weight: 2 },
  { arbitrary: fail, weight: 2 },
  ...[addMember, stall, drop, replay, heal].map((arbitrary) => ({ arbitrary, weight: 1 })),
];
