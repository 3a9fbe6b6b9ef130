import { events } from '@sandlot/kube';
import type { Event, KubeClient, KubeObject } from '@sandlot/kube';
import type { Clock, TokenBucket } from '@sandlot/std';

export interface ExplainDeps {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Of such questions of all Sandboxes together. */
  readonly questions: TokenBucket;
}

/** Nobody waits for the answer. */
const PATIENCE_MS = 5_000;
const MOST = 100;

/** Normal steps that say nothing about why something is late. */
const ORDINARY = /^(WaitForFirstConsumer|Provisioning|ProvisioningSucceeded|Scheduled|Pull\w+|Created|Started)$/;

/**
 * Why `object` is not what it should be, in the words of whoever works on it: its latest Warning, else the latest step that
 * is not an ordinary one. Undefined when nobody said anything, when too many ask, or when the answer does not come.
 */
export async function explain(deps: ExplainDeps, { metadata }: KubeObject): Promise<string | undefined> {
  const { client, clock, signal, questions } = deps;
  if (questions.take(clock.monotonic(), 0) > 0) return undefined;
  const { namespace, uid = '' } = metadata;
  const options = { signal, namespace, fieldSelector: `regarding.uid=${uid}`, limit: MOST } as const;
  try {
    const { items } = await client.list(events, { ...options, priority: 'background', deadlineMs: PATIENCE_MS });
    const telling = items.filter(({ type, reason }) => type === 'Warning' || !ORDINARY.test(reason));
    const [latest] = telling.toSorted(byWeight);
    return latest?.note === undefined || latest.note === '' ? undefined : `${latest.reason}: ${latest.note}`;
  } catch {
    // An Event is told without its reason rather than not at all.
    return undefined;
  }
}

function byWeight(a: Event, b: Event): number {
  if (a.type !== b.type) return a.type === 'Warning' ? -1 : 1;
  return timeOf(b) - timeOf(a);
}

/** Reporters of the core API and of this one date their Events in different fields. */
function timeOf({ series, deprecatedLastTimestamp, eventTime, metadata }: Event): number {
  const times = [series?.lastObservedTime, deprecatedLastTimestamp, eventTime, metadata.creationTimestamp];
  return Math.max(0, ...times.map((time) => Date.parse(time ?? '')).filter((time) => !Number.isNaN(time)));
}
