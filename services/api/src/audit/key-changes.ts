import type { Bus, EventData } from '@sandlot/bus';
import { formatEventId } from '@sandlot/bus';
import type { Secret } from '@sandlot/kube';
import type { Clock, Logger } from '@sandlot/std';
import { keyAuthors, parseKeySecret, VIA_API } from '@sandlot/tenancy';
import type { WatchedKeyRing } from '@sandlot/tenancy';

/** A replica that starts sees every key as new. Keys older than this were recorded when they were created. */
const RECENT_MS = 10 * 60_000;
const TYPE = 'audit.recorded';

type AuditRecord = EventData[typeof TYPE];

export interface KeyAuditDeps {
  readonly keys: Pick<WatchedKeyRing, 'informer'>;
  readonly bus: Pick<Bus, 'publish'>;
  readonly log: Logger;
  readonly clock: Pick<Clock, 'now'>;
}

interface KeyChange {
  readonly old?: Secret | undefined;
  readonly next?: Secret | undefined;
}

/**
 * Records API keys that `sandlot keys` or kubectl created or revoked, from the watch of their Secrets. Every replica publishes
 * the event under the same id, so that the bus keeps one of them.
 */
export function auditKeys({ keys, bus, log, clock }: KeyAuditDeps): void {
  keys.informer.onChange((change) => {
    const data = findAuditRecord(change, clock.now());
    if (data === undefined) return;
    log.info({ audit: data }, 'an API key was changed outside the API');
    const id = formatEventId({ uid: data.uid, type: TYPE, marker: data.action });
    bus.publish({ type: TYPE, id, timeMs: clock.now(), data });
  });
}

/** The audit record of a change of a key's Secret; undefined if there is nothing to record, or if the API made the change. */
export function findAuditRecord({ old, next }: KeyChange, nowMs: number): AuditRecord | undefined {
  if (next !== undefined) return old === undefined && isRecent(next, nowMs) ? recordFor(next, 'key.create') : undefined;
  return old === undefined ? undefined : recordFor(old, 'key.revoke');
}

function isRecent({ metadata }: Secret, nowMs: number): boolean {
  return nowMs - Date.parse(metadata.creationTimestamp ?? '') < RECENT_MS;
}

function recordFor(secret: Secret, action: 'key.create' | 'key.revoke'): AuditRecord | undefined {
  const key = parseKeySecret(secret);
  const { annotations = {}, uid = '' } = secret.metadata;
  const user = annotations[action === 'key.create' ? keyAuthors.createdBy : keyAuthors.revokedBy];
  if (key === undefined || user?.startsWith(VIA_API) === true) return undefined;
  return {
    namespace: key.namespace,
    name: key.id,
    uid,
    action,
    actor: { key: '', team: '', role: 'cluster', user: user ?? 'unknown' },
    source: { address: 'cluster' },
    requestId: uid,
    status: action === 'key.create' ? 201 : 204,
    outcome: 'done',
  };
}
