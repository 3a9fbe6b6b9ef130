import type { Day } from './days.ts';

/** Where a reading of events goes on, and when the ledger last looked at the objects. */
export const STATE_KEY = 'state';

/** The facts about one Sandbox that runs, or ended a short while ago. */
export function formatRecordKey(namespace: string, uid: string): string {
  return `record.${namespace}.${uid}`;
}

/** Usage of a namespace on a day. */
export function formatDayKey(namespace: string, day: Day): string {
  return `day.${namespace}.${day}`;
}

/** Usage of a namespace on all days that are closed. */
export function formatSumKey(namespace: string): string {
  return `sum.${namespace}`;
}

/** The tokens of a key: its kind, the namespace, and the UID or day. */
export function parseEntryKey(key: string): {
  readonly kind: string;
  readonly namespace: string;
  readonly rest: string;
} {
  const [kind = '', namespace = '', rest = ''] = key.split('.');
  return { kind, namespace, rest };
}

/** Whether both can be tokens of a key: they come from events. */
export function isUsableInKey(namespace: string, uid: string): boolean {
  return /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(namespace) && /^[A-Za-z0-9-]{1,64}$/.test(uid);
}
