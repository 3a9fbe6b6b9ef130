import { events } from '@sandlot/kube';
import type { Event, KubeClient, KubeObject } from '@sandlot/kube';
import type { Clock, TokenBucket } from '@sandlot/std';

export interface FindCauseDeps {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Limits the lists of Events, for all Sandboxes together. */
  readonly eventLists: TokenBucket;
}

/** No client waits for the answer. */
const DEADLINE_MS = 5_000;
const MAX_EVENTS = 100;

/** Normal steps that do not say why something is late. */
const ORDINARY = /^(WaitForFirstConsumer|Provisioning|ProvisioningSucceeded|Scheduled|Pull\w+|Created|Started)$/;

/**
 * Why `object` is not as it should be, in the words of the component that works on it: its latest Warning, else its latest
 * step that is not ordinary. Undefined when there is no such Event, when the rate limit is reached, or on an error.
 */
export async function findCause(deps: FindCauseDeps, { metadata }: KubeObject): Promise<string | undefined> {
  const { client, clock, signal, eventLists } = deps;
  if (eventLists.take(clock.monotonic(), 0) > 0) return undefined;
  const { namespace, uid = '' } = metadata;
  const options = { signal, namespace, fieldSelector: `regarding.uid=${uid}`, limit: MAX_EVENTS } as const;
  try {
    const { items } = await client.list(events, { ...options, priority: 'background', deadlineMs: DEADLINE_MS });
    const relevant = items.filter(({ type, reason }) => type === 'Warning' || !ORDINARY.test(reason));
    const [latest] = relevant.toSorted(byWeight);
    return latest?.note === undefined || latest.note === '' ? undefined : `${latest.reason}: ${latest.note}`;
  } catch {
    // A report without its cause is better than none.
    return undefined;
  }
}

function byWeight(a: Event, b: Event): number {
  if (a.type !== b.type) return a.type === 'Warning' ? -1 : 1;
  return getTime(b) - getTime(a);
}

/** Reporters of the core API and of events.k8s.io date their Events in different fields. */
function getTime({ series, deprecatedLastTimestamp, eventTime, metadata }: Event): number {
  const times = [series?.lastObservedTime, deprecatedLastTimestamp, eventTime, metadata.creationTimestamp];
  return Math.max(0, ...times.map((time) => Date.parse(time ?? '')).filter((time) => !Number.isNaN(time)));
}
