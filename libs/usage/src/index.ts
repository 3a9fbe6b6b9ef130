export { addAmounts, amounts, convertAmounts, multiplyRequests, NOTHING } from './amounts.ts';
export type { Amounts, Requests } from './amounts.ts';
export { DAY_MS, divideByDay, formatDay, getStartOfDay, listDays } from './days.ts';
export type { Day, Span } from './days.ts';
export { BUCKET_MS, BUCKETS_PER_DAY, EMPTY_DAY, parseDayEntry, sumUsage } from './day-entry.ts';
export type { DayEntry } from './day-entry.ts';
export { formatDayKey, formatRecordKey, formatSumKey, isUsableInKey, parseEntryKey, STATE_KEY } from './entry-keys.ts';
export { listPoints } from './points.ts';
export type { TeamPoint } from './points.ts';
