import assert from 'node:assert/strict';
import { FakeClock } from '@sandlot/std/testing';
import type {
  EventInput,
  EventRecorder,
  KubeClient,
  KubeObject,
  ReconcileResult,
  Resource,
  RetryableError,
  TerminalError,
} from '@sandlot/kube';
import type { Faults } from '../faults/faults.ts';
import type { RequestRecord } from '../server/journal.ts';
import { startFakeApiServer } from '../server/server.ts';
import type { FakeApiServer, FakeApiServerOptions } from '../server/server.ts';

/** The dependencies of the reconciler under test. Every row gets new ones. */
export interface ReconcileSetup {
  readonly server: FakeApiServer;
  /** Writes as the user `controller`. */
  readonly client: KubeClient;
  readonly clock: FakeClock;
  /** Collects the events that rows compare with `wantEvents`. */
  readonly events: EventRecorder;
}

export interface Reconciler {
  reconcile(key: string): Promise<ReconcileResult>;
  /** Stops informers and timers. */
  close?(): Promise<void> | void;
}

/** Objects of one kind, created by {@link given}. */
export interface GivenObjects {
  seed(server: FakeApiServer): void;
}

export function given<T extends KubeObject>(resource: Resource<T>, ...objects: readonly T[]): GivenObjects {
  return { seed: (server) => void server.seed(resource, ...objects) };
}

/** An expected write. Absent fields are not compared. */
export interface WantedWrite {
  /** Plural, with the subresource if any: `pods`, `sandboxes/status`. */
  readonly resource: string;
  /** `namespace/name`. */
  readonly key: string;
  /** Part of the object or patch in the request. A JSON patch is compared completely. */
  readonly body?: unknown;
}

/** The expected result, or the class of the expected error. */
export type WantedResult = ReconcileResult | typeof RetryableError | typeof TerminalError;

/** One reconcile: the objects before it, and the exact list of writes it must make, in order. */
export interface ReconcileRow {
  /** A sentence. */
  readonly name: string;
  readonly objects: readonly GivenObjects[];
  readonly key: string;
  /** Called after the objects are created. */
  readonly faults?: ((faults: Faults) => void) | undefined;
  readonly wantCreates?: readonly WantedWrite[] | undefined;
  readonly wantPatches?: readonly WantedWrite[] | undefined;
  /** `resource namespace/name`. */
  readonly wantDeletes?: readonly string[] | undefined;
  /** `Normal Created`, `Warning Invalid: part of the message`. */
  readonly wantEvents?: readonly string[] | undefined;
  /** Default done. */
  readonly wantResult?: WantedResult | undefined;
  /** For checks that the lists above cannot express. */
  readonly verify?: ((setup: ReconcileSetup) => void | Promise<void>) | undefined;
}

export interface ReconcileTableOptions extends Pick<FakeApiServerOptions, 'resources'> {
  /** Builds the reconciler and waits until its caches show the seeded objects. */
  readonly start: (setup: ReconcileSetup) => Promise<Reconciler>;
  readonly rows: readonly ReconcileRow[];
}

export interface RunnableRow {
  readonly name: string;
  readonly run: () => Promise<void>;
}

/**
 * Creates rows for `it.each`. Each starts a server, seeds it, reconciles once and compares all writes, events and the
 * result. An unexpected write fails the row.
 */
export function reconcileTable({ resources, start, rows }: ReconcileTableOptions): RunnableRow[] {
  return rows.map((row) => ({ name: row.name, run: () => runRow(row, { resources, start }) }));
}

type RowOptions = Pick<ReconcileTableOptions, 'resources' | 'start'>;

async function runRow(row: ReconcileRow, { resources, start }: RowOptions): Promise<void> {
  const clock = new FakeClock();
  await using server = await startFakeApiServer({ resources, clock });
  const seen: EventInput[] = [];
  const events: EventRecorder = { record: (input) => void seen.push(input), flush: () => Promise.resolve() };
  const setup = { server, client: server.client({ user: 'controller' }), clock, events };
  for (const objects of row.objects) objects.seed(server);
  const reconciler = await start(setup);
  try {
    server.clearRequests();
    row.faults?.(server.faults);
    const result = await readOutcome(reconciler, row.key);
    compareWrites(row, server.writes());
    compareEvents(row.wantEvents ?? [], seen);
    compareResult(row.wantResult ?? { kind: 'done' }, result);
    await row.verify?.(setup);
  } finally {
    await reconciler.close?.();
  }
}

async function readOutcome(reconciler: Reconciler, key: string): Promise<unknown> {
  try {
    return await reconciler.reconcile(key);
  } catch (error) {
    return error;
  }
}

function compareResult(wanted: WantedResult, result: unknown): void {
  if (typeof wanted === 'function')
    assert.ok(result instanceof wanted, `expected ${wanted.name}, got ${describe(result)}`);
  else if (result instanceof Error) throw result;
  else assert.partialDeepStrictEqual(result, wanted);
}

function describe(result: unknown): string {
  return result instanceof Error ? `${result.name}: ${result.message}` : JSON.stringify(result);
}

function compareWrites(row: ReconcileRow, writes: readonly RequestRecord[]): void {
  const byVerb = (...verbs: string[]): RequestRecord[] => writes.filter(({ verb }) => verbs.includes(verb));
  compareList('creates', row.wantCreates ?? [], byVerb('create'));
  compareList('patches', row.wantPatches ?? [], byVerb('patch', 'update'));
  const deletes = byVerb('delete', 'deletecollection').map((write) => `${getResource(write)} ${write.key}`);
  assert.deepEqual(deletes, row.wantDeletes ?? [], 'deletes');
}

function compareList(what: string, wanted: readonly WantedWrite[], seen: readonly RequestRecord[]): void {
  const names = (list: readonly WantedWrite[]): string[] => list.map(({ resource, key }) => `${resource} ${key}`);
  const writes = seen.map((write) => ({ resource: getResource(write), key: write.key, body: write.body }));
  assert.deepEqual(names(writes), names(wanted), what);
  for (const [index, { body }] of wanted.entries()) {
    if (body !== undefined) assert.partialDeepStrictEqual(writes[index]?.body, body);
  }
}

function getResource({ resource, subresource }: RequestRecord): string {
  return subresource === '' ? resource : `${resource}/${subresource}`;
}

function compareEvents(wanted: readonly string[], seen: readonly EventInput[]): void {
  const lines = seen.map(({ type, reason, message }) => `${type} ${reason}: ${message}`);
  const listing = `events: ${JSON.stringify(lines)}, wanted: ${JSON.stringify(wanted)}`;
  assert.equal(lines.length, wanted.length, listing);
  for (const [index, line] of wanted.entries()) {
    const [head = '', message = ''] = line.split(/: (.*)/s);
    const got = lines[index] ?? '';
    assert.ok(got.startsWith(`${head}: `) && got.includes(message), listing);
  }
}
