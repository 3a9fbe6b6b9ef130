import { listAuditEntries, sortByTime, isWrite } from '../../src/support/audit-log.ts';
import type { AuditEntry } from '../../src/support/audit-log.ts';
import { readSum } from '../support/prometheus.ts';
import { CONTROLLERS, formatFlowSchema, NAMESPACE, getAccountName } from './stage.ts';
import type { ControllerName, Stage } from './stage.ts';

/** Running totals of one controller. */
export interface ControllerCounts {
  /** Writes by the metrics of the API server, without leases and Events. */
  readonly writes: number;
  readonly reconciles: number;
  readonly cpuMs: number;
  /** The sum of all replicas at the time of counting. */
  readonly rssMiB: number;
}

/** Running totals. */
export interface Counts {
  readonly controllers: Readonly<Record<ControllerName, ControllerCounts>>;
  /** Answers with 409 to any client, by the metrics of the API server. */
  readonly conflicts: number;
}

const KINDS = ['sandboxes', 'sandboxclaims', 'sandboxwarmpools', 'pods'];

export async function countNow(stage: Stage): Promise<Counts> {
  const server = await stage.apiServerMetrics();
  const entries = await Promise.all(
    CONTROLLERS.map(async (name) => [name, await countController(stage, name, server)] as const),
  );
  const conflicts = KINDS.map((resource) => readSum(server, 'apiserver_request_total', { resource, code: '409' }));
  return {
    controllers: Object.fromEntries(entries) as Record<ControllerName, ControllerCounts>,
    conflicts: conflicts.reduce((sum, count) => sum + count, 0),
  };
}

async function countController(stage: Stage, name: ControllerName, server: string): Promise<ControllerCounts> {
  const own = await stage.fetchMetrics(name);
  const dispatched = 'apiserver_flowcontrol_dispatched_requests_total';
  return {
    writes: readSum(server, dispatched, { flow_schema: formatFlowSchema(name) }),
    reconciles: readSum(own, 'sandlot_reconcile_seconds_count'),
    cpuMs: readSum(own, 'process_cpu_seconds_total') * 1_000,
    rssMiB: readSum(own, 'process_resident_memory_bytes') / 1024 ** 2,
  };
}

const CHILDREN = new Set(['sandboxes', 'pods']);

/**
 * Counts the writes of the controllers for claims since `since` (RFC 3339): to claims, and to Sandboxes and their pods from the
 * adoption on. All other writes refill pools. The names come from the audit log.
 */
export async function countWritesForClaims(stage: Stage, since: string): Promise<number> {
  const given = new Set<string>();
  let writes = 0;
  for (const { user, resource, name } of await listWritesSince(stage, since)) {
    if (user === 'claim-controller' && resource === 'sandboxes') given.add(name);
    if (resource === 'sandboxclaims' || (CHILDREN.has(resource) && given.has(name))) writes += 1;
  }
  return writes;
}

/** Counts the writes of all clients in the namespaces of the scenario since `since`, without Events, by account, verb and resource. */
export async function countWritesByKind({ plane, places }: Stage, since: string): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>();
  const words = places.map((place) => `"namespace":"${place}"`);
  for await (const entry of listAuditEntries(plane.auditLogPath ?? '', words)) {
    const { user, verb, objectRef, requestReceivedTimestamp } = entry;
    if (!isWrite(entry) || requestReceivedTimestamp < since || objectRef?.resource === 'events') continue;
    const kind = `${user.username.split(':').at(-1) ?? ''} ${verb} ${formatTarget(objectRef)}`;
    counts.set(kind, (counts.get(kind) ?? 0) + 1);
  }
  return new Map([...counts].sort());
}

function formatTarget(
  target: { readonly resource: string; readonly subresource?: string | undefined } | undefined,
): string {
  return [target?.resource, target?.subresource].filter(Boolean).join('/');
}

interface Write {
  readonly user: string;
  readonly resource: string;
  readonly name: string;
}

/** The writes of the controllers in the order in which they arrived. */
async function listWritesSince({ plane }: Stage, since: string): Promise<Write[]> {
  const users = new Map<string, string>(
    CONTROLLERS.map((name) => [`system:serviceaccount:${NAMESPACE}:${getAccountName(name)}`, name]),
  );
  const entries: AuditEntry[] = [];
  for await (const entry of listAuditEntries(plane.auditLogPath ?? '', [...users.keys()])) {
    if (users.has(entry.user.username) && isWrite(entry) && entry.requestReceivedTimestamp >= since)
      entries.push(entry);
  }
  return sortByTime(entries).flatMap(({ user, objectRef }) =>
    objectRef === undefined
      ? []
      : [{ user: users.get(user.username) ?? '', resource: objectRef.resource, name: objectRef.name ?? '' }],
  );
}
