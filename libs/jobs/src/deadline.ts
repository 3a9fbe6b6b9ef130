/** Why something is due. Only the object itself decides whether it still is. */
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

/** A moment at which the object `key` has to be looked at again. */
export interface Deadline {
  /** `namespace/name` of the object. */
  readonly key: string;
  readonly uid: string;
  /** Generation of the object the deadline was computed from. */
  readonly generation: number;
  readonly purpose: Purpose;
  /** Epoch milliseconds. */
  readonly dueAtMs: number;
  /** W3C trace context of the operation that the object belongs to: a carrier as JSON, as the object has it. */
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

/** The deadlines of an object, from its time per purpose in epoch milliseconds. What has no time, or never comes, is left out. */
export function deadlinesAt(
  { metadata: { namespace = '', name = '', uid = '', generation = 0 } }: Dated,
  times: Readonly<Partial<Record<Purpose, number | undefined>>>,
): readonly Deadline[] {
  const found = purposes.flatMap((purpose) => {
    const dueAtMs = times[purpose];
    return dueAtMs === undefined || !Number.isFinite(dueAtMs) ? [] : [{ purpose, dueAtMs }];
  });
  return found.length === 0 ? NONE : found.map((due) => ({ key: `${namespace}/${name}`, uid, generation, ...due }));
}

/** What names a deadline; the same three always name the same job. */
export type DeadlineId = Pick<Deadline, 'uid' | 'generation' | 'purpose'>;

/** `<uid>-<generation>-<purpose>`; BullMQ takes no colons in job ids, and UIDs of the API server have none. */
export function jobIdOf({ uid, generation, purpose }: DeadlineId): string {
  return `${uid.replaceAll(':', '_')}-${generation}-${purpose}`;
}

/** Payload of a job: no state and no secrets, because the object is read anew. */
export interface JobData {
  readonly key: string;
  readonly generation: number;
  readonly trace: string;
}
