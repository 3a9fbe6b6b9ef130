import { systemClock } from '@sandlot/std';
import type { Clock } from '@sandlot/std';
import { noMetrics } from '../metrics.ts';
import type { KubeMetrics } from '../metrics.ts';

/** The writes of an owner that its cache does not show yet. */
export interface PendingExpectations {
  readonly creates: number;
  readonly deletes: number;
  readonly createIds: ReadonlySet<string>;
  readonly deleteIds: ReadonlySet<string>;
}

/**
 * Memory of our own writes between the moment we make them and the moment the cache shows them, per owner (the key or
 * UID of a parent). Ids are names we chose, or UIDs. Record before the write, so that no event can come first; take back
 * (`observed…`) what certainly failed. An unconfirmed expectation expires, and is counted in the metrics.
 */
export interface Expectations {
  expectCreate(owner: string, id: string): void;
  expectDelete(owner: string, id: string): void;
  observeCreate(owner: string, id: string): void;
  observeDelete(owner: string, id: string): void;
  getPending(owner: string): PendingExpectations;
  /** The owner is gone. */
  forgetOwner(owner: string): void;
}

export interface ExpectationsOptions {
  readonly clock?: Clock | undefined;
  readonly metrics?: KubeMetrics | undefined;
  /** Default 300,000 ms. */
  readonly ttlMs?: number | undefined;
}

/** Expiry by id. All live equally long and a repeated one moves to the end, so the first entries expire first. */
type Expiries = Map<string, number>;

interface Owner {
  readonly create: Expiries;
  readonly delete: Expiries;
}

const NOTHING: PendingExpectations = { creates: 0, deletes: 0, createIds: new Set(), deleteIds: new Set() };

export function createExpectations(options: ExpectationsOptions = {}): Expectations {
  const { clock = systemClock, metrics = noMetrics, ttlMs = 300_000 } = options;
  const owners = new Map<string, Owner>();

  const expect = (owner: string, kind: keyof Owner, id: string): void => {
    const expected = owners.get(owner) ?? { create: new Map(), delete: new Map() };
    owners.set(owner, expected);
    expected[kind].delete(id);
    expected[kind].set(id, clock.monotonic() + ttlMs);
  };
  const observe = (owner: string, kind: keyof Owner, id: string): void => {
    const expected = owners.get(owner);
    expected?.[kind].delete(id);
    if (expected?.create.size === 0 && expected.delete.size === 0) owners.delete(owner);
  };
  const unexpired = (expected: Owner, kind: keyof Owner): ReadonlySet<string> => {
    for (const [id, expiresMs] of expected[kind]) {
      if (expiresMs > clock.monotonic()) break;
      expected[kind].delete(id);
      metrics.countExpiredExpectation(kind);
    }
    return new Set(expected[kind].keys());
  };
  return {
    expectCreate: (owner, id) => expect(owner, 'create', id),
    expectDelete: (owner, id) => expect(owner, 'delete', id),
    observeCreate: (owner, id) => observe(owner, 'create', id),
    observeDelete: (owner, id) => observe(owner, 'delete', id),
    getPending(owner) {
      const expected = owners.get(owner);
      if (expected === undefined) return NOTHING;
      const createIds = unexpired(expected, 'create');
      const deleteIds = unexpired(expected, 'delete');
      if (createIds.size === 0 && deleteIds.size === 0) owners.delete(owner);
      return { creates: createIds.size, deletes: deleteIds.size, createIds, deleteIds };
    },
    forgetOwner: (owner) => void owners.delete(owner),
  };
}
