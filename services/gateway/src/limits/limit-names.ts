/** Limits that one client, sandbox or namespace may reach while others are served; a metric label. */
export const LIMIT_NAMES = [
  'held-by-sandbox',
  'held-by-namespace',
  'held-by-source',
  'lookups-by-source',
  'credentials-by-source',
  'connections',
  'connections-by-source',
  'heads',
  'heads-by-source',
  'head-time',
] as const;
export type LimitName = (typeof LIMIT_NAMES)[number];
