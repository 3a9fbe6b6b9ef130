import type { EventData } from '@sandlot/bus';
import { eventId } from '@sandlot/bus';
import type { Secret } from '@sandlot/kube';
import { keyAuthors, keyOfSecret, VIA_API } from '@sandlot/tenancy';
import type { Deps } from '../wiring/deps.ts';

/** What was made longer ago than that has been told, and a replica that starts sees all keys as new. */
const NEWS_MS = 10 * 60_000;
const TYPE = 'audit.recorded';

type Record = EventData[typeof TYPE];

interface KeyChange {
  readonly old?: Secret | undefined;
  readonly next?: Secret | undefined;
}

/**
 * Records keys that were made or taken back past the API, by `sandlot keys` or kubectl, from what becomes of their Secrets.
 * Every replica tells it, under one id, so that it is one event.
 */
export function auditKeys({ keys, bus, log, clock }: Pick<Deps, 'keys' | 'bus' | 'log' | 'clock'>): void {
  keys.informer.onChange((change) => {
    const data = keyRecord(change, clock.now());
    if (data === undefined) return;
    log.info({ audit: data }, 'a change was made past the API');
    const id = eventId({ uid: data.uid, type: TYPE, marker: data.action });
    bus.publish({ type: TYPE, id, timeMs: clock.now(), data });
  });
}

/** The record of a change of a key's Secret; undefined for what is none, or what the API told itself. */
export function keyRecord({ old, next }: KeyChange, nowMs: number): Record | undefined {
  if (next !== undefined) return old === undefined && isNews(next, nowMs) ? recordOf(next, 'key.create') : undefined;
  return old === undefined ? undefined : recordOf(old, 'key.revoke');
}

function isNews({ metadata }: Secret, nowMs: number): boolean {
  return nowMs - Date.parse(metadata.creationTimestamp ?? '') < NEWS_MS;
}

function recordOf(secret: Secret, action: 'key.create' | 'key.revoke'): Record | undefined {
  const key = keyOfSecret(secret);
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
