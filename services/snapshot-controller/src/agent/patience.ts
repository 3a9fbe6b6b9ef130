import type { Call } from './calls.ts';

/** How long to wait before a call that failed is repeated. */
const RETRY_MS = 2_000;
/** How long at most. */
const MOST_RETRY_MS = 120_000;
/** How long an agent may be away, such as for an upgrade of the DaemonSet. */
const PATIENCE_MS = 120_000;

type Failed = Extract<Call<unknown>, { readonly endedMs: number }>;

/** When a call that failed may be repeated. */
export function getRetryMs({ endedMs }: Failed): number {
  return endedMs + RETRY_MS;
}

/** When a call that no user waits for may be repeated: the longer it has failed, the later. */
export function getLaterRetryMs(call: Failed): number {
  const lastedMs = call.state === 'away' ? call.endedMs - call.sinceMs : 0;
  return call.endedMs + Math.min(MOST_RETRY_MS, Math.max(RETRY_MS, lastedMs));
}

/** Whether the agent has been away for longer than one waits for it. */
export function isHopeless(call: Call<unknown>, patienceMs = PATIENCE_MS): boolean {
  return call.state === 'away' && call.endedMs - call.sinceMs >= patienceMs;
}
