import { randomUUID } from 'node:crypto';
import type { Bus, EventData } from '@sandlot/bus';
import { formatEventId } from '@sandlot/bus';
import type { Clock, Logger } from '@sandlot/std';
import type { ApiKey } from '@sandlot/tenancy';

export interface AuditDeps {
  readonly bus: Pick<Bus, 'publish'>;
  readonly log: Logger;
  readonly clock: Pick<Clock, 'now'>;
}

/** One answered request for a change. */
export interface AuditRecord {
  readonly action: string;
  readonly key: ApiKey;
  readonly object: { readonly namespace: string; readonly name: string; readonly uid: string };
  readonly source: { readonly address: string; readonly userAgent: string | undefined };
  readonly requestId: string;
  readonly status: number;
  /** The message of an error answer. */
  readonly message: string | undefined;
}

const MAX_USER_AGENT_LENGTH = 256;

function getOutcome(status: number): EventData['audit.recorded']['outcome'] {
  if (status < 400) return 'done';
  if (status === 401 || status === 403) return 'denied';
  return status < 500 ? 'refused' : 'failed';
}

/** Records who requested a change, from where, and with what result, as an event on the bus and a log line. */
export function recordAudit({ bus, log, clock }: AuditDeps, record: AuditRecord): void {
  const { action, key, object, source, requestId, status, message } = record;
  const type = 'audit.recorded';
  const { address, userAgent } = source;
  const agent = userAgent?.slice(0, MAX_USER_AGENT_LENGTH);
  const data = {
    ...object,
    action,
    actor: { key: key.id, team: key.team, role: key.role },
    source: { address, ...(agent === undefined ? {} : { userAgent: agent }) },
    requestId,
    status,
    outcome: getOutcome(status),
    ...(message === undefined ? {} : { message }),
  };
  log.info({ audit: data }, 'answered a request for a change');
  const id = formatEventId({ uid: randomUUID(), type, marker: requestId });
  bus.publish({ type, id, timeMs: clock.now(), data });
}
