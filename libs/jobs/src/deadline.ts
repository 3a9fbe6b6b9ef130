/** Why something is due. Only the object itself decides whether it still is. */
export type Purpose = 'shutdown' | 'ttl' | 'idle' | 'claim-timeout' | 'pool-schedule' | 'retention';

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
}

/** What names a deadline; the same three always name the same job. */
export type DeadlineId = Pick<Deadline, 'uid' | 'generation' | 'purpose'>;

/** `<uid>-<generation>-<purpose>`; BullMQ takes no colons in job ids, and UIDs of the API server have none. */
export function jobIdOf({ uid, generation, purpose }: DeadlineId): string {
  return `${uid.replaceAll(':', '_')}-${generation}-${purpose}`;
}

/** Payload of a job: no state and no secrets, because the handler reads the object anew. */
export interface JobData {
  readonly key: string;
  readonly generation: number;
  /** W3C trace context of whoever set the deadline. */
  readonly trace: Readonly<Record<string, string>>;
}
