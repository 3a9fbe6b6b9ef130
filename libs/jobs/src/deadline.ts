/** Why an object is due. The object itself decides whether it still is. */
export type Purpose = 'shutdown' | 'ttl' | 'idle' | 'claim-timeout' | 'pool-schedule' | 'retention' | 'pause';

/** All purposes, for metrics that begin at 0. */
export const purposes: readonly Purpose[] = [
  'shutdown',
  'ttl',
  'idle',
  'claim-timeout',
  'pool-schedule',
  'retention',
  'pause',
];

/** A time at which the object `key` has to be reconciled again. */
export interface Deadline {
  /** `namespace/name` of the object. */
  readonly key: string;
  readonly uid: string;
  /** Generation of the object the deadline was computed from. */
  readonly generation: number;
  readonly purpose: Purpose;
  /** Epoch milliseconds. */
  readonly dueAtMs: number;
  /** W3C trace context of the object's operation: the JSON of its annotation. */
  readonly trace?: string | undefined;
}

const NONE: readonly Deadline[] = [];

interface Dated {
  readonly metadata: {
    readonly namespace?: string | undefined;
    readonly name?: string | undefined;
    readonly uid?: string | undefined;
    readonly generation?: number | undefined;
  };
}

/** The deadlines of an object, from a time per purpose in epoch milliseconds. Purposes without a time are left out. */
export function listDeadlinesAt(
  { metadata: { namespace = '', name = '', uid = '', generation = 0 } }: Dated,
  times: Readonly<Partial<Record<Purpose, number | undefined>>>,
): readonly Deadline[] {
  const found = purposes.flatMap((purpose) => {
    const dueAtMs = times[purpose];
    return dueAtMs === undefined || !Number.isFinite(dueAtMs) ? [] : [{ purpose, dueAtMs }];
  });
  return found.length === 0 ? NONE : found.map((due) => ({ key: `${namespace}/${name}`, uid, generation, ...due }));
}

/** The identity of a deadline and of its job. */
export type DeadlineId = Pick<Deadline, 'uid' | 'generation' | 'purpose'>;

/** `<uid>-<generation>-<purpose>`. BullMQ accepts no colons in job ids, and UIDs have none. */
export function formatJobId({ uid, generation, purpose }: DeadlineId): string {
  return `${uid.replaceAll(':', '_')}-${generation}-${purpose}`;
}

/** Payload of a job: no state and no secrets, because the reconcile reads the object. */
export interface JobData {
  readonly key: string;
  readonly generation: number;
  readonly trace: string;
}
