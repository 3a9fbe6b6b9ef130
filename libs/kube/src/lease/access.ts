import type { Clock } from '@sandlot/std';
import type { KubeClient, WatchEvent } from '../client/types.ts';
import { isNotFound } from '../errors.ts';
import { formatMicroTime } from '../objects/micro-time.ts';
import type { ObjectMeta } from '../objects/object.ts';
import { leases } from '../objects/resources.ts';
import type { Lease } from '../objects/resources.ts';

export interface LeaseAccessOptions {
  readonly client: KubeClient;
  readonly name: string;
  readonly namespace: string;
  readonly identity: string;
  readonly durationMs: number;
  /** Deadline of one call. */
  readonly callMs: number;
  readonly clock: Clock;
}

/** Deadline of the release. It is short because a shutdown waits for it. */
const RELEASE_MS = 2_000;

/**
 * Reads and writes one Lease for one candidate. Every write has the resourceVersion of the last read as a precondition:
 * of several candidates one succeeds, and the others get a `Conflict` or `AlreadyExists`.
 */
export class LeaseAccess {
  readonly #options: LeaseAccessOptions;

  constructor(options: LeaseAccessOptions) {
    this.#options = options;
  }

  /** Undefined when the Lease does not exist. */
  async read(): Promise<Lease | undefined> {
    const { client, callMs } = this.#options;
    try {
      return await client.get(leases, this.#options, { deadlineMs: callMs });
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  /** Begins the term `token` in the lease that was read, or creates the lease when it is undefined. */
  take(lease: Lease | undefined, token: number): Promise<Lease> {
    const { client, name, namespace, identity, durationMs, callMs, clock } = this.#options;
    const now = formatMicroTime(clock.now());
    const spec = {
      holderIdentity: identity,
      leaseDurationSeconds: Math.ceil(durationMs / 1_000),
      acquireTime: now,
      renewTime: now,
      leaseTransitions: token,
    };
    const call = { deadlineMs: callMs };
    return lease === undefined
      ? client.create(leases, { metadata: { name, namespace }, spec }, call)
      : client.mergePatch(
          leases,
          this.#options,
          { metadata: { ...getGuard(lease), ...forgetRequest(lease) }, spec },
          call,
        );
  }

  renew(lease: Lease, signal: AbortSignal): Promise<Lease> {
    const { client, callMs, clock } = this.#options;
    const patch = { metadata: getGuard(lease), spec: { renewTime: formatMicroTime(clock.now()) } };
    return client.mergePatch(leases, this.#options, patch, { deadlineMs: callMs, signal });
  }

  /** Adds a request to the lease of another holder, unless it has changed since it was read. */
  async request(lease: Lease, text: string): Promise<void> {
    const { client, callMs } = this.#options;
    const patch = { metadata: { ...getGuard(lease), annotations: { [REQUEST]: text } } };
    await client.mergePatch(leases, this.#options, patch, { deadlineMs: callMs });
  }

  /** Removes the holder and keeps the number of terms. */
  async release(lease: Lease): Promise<void> {
    const patch = { metadata: getGuard(lease), spec: { holderIdentity: '', leaseDurationSeconds: 1 } };
    await this.#options.client.mergePatch(leases, this.#options, patch, { deadlineMs: RELEASE_MS });
  }

  /** Calls `released` whenever the lease has no holder, until the watch ends or fails. */
  async watchReleases(signal: AbortSignal, released: () => void): Promise<void> {
    const { client, namespace, name } = this.#options;
    const options = { namespace, fieldSelector: `metadata.name=${name}`, signal };
    for await (const event of client.watch(leases, options)) if (isRelease(event)) released();
  }
}

/** Annotation with the request of another candidate for the lease. */
const REQUEST = 'sandlot.dev/requested-by';

export function findRequest({ metadata }: Lease): string | undefined {
  return metadata.annotations?.[REQUEST];
}

/** A new term begins without the request that was meant for the term before. */
function forgetRequest(lease: Lease): object {
  return findRequest(lease) === undefined ? {} : { annotations: { [REQUEST]: null } };
}

function getGuard({ metadata: { uid, resourceVersion } }: Lease): Pick<ObjectMeta, 'uid' | 'resourceVersion'> {
  return { uid, resourceVersion };
}

function isRelease(event: WatchEvent<Lease>): boolean {
  if (event.type === 'BOOKMARK') return false;
  return event.type === 'DELETED' || (event.object.spec?.holderIdentity ?? '') === '';
}
