import { hash } from 'node:crypto';
import { CORE_GROUP } from '@sandlot/api-types';
import { createKubeClient, defineResource, isForbidden, KubeError, TokenBucket } from '@sandlot/kube';
import type { Credentials, KubeObject } from '@sandlot/kube';
import type { Clock, Logger } from '@sandlot/std';
import type { Refusal } from '../refusals/refusal.ts';

interface AccessReview extends KubeObject {
  spec: { resourceAttributes: Readonly<Record<string, string>> };
  status?: { allowed: boolean };
}

const accessReviews = defineResource<AccessReview>({
  group: 'authorization.k8s.io',
  version: 'v1',
  plural: 'selfsubjectaccessreviews',
  kind: 'SelfSubjectAccessReview',
  namespaced: false,
});

/** Why a bearer is refused; undefined: he is not. */
export type Verdict = Extract<Refusal, { kind: 'unauthorised' | 'unsure' }> | undefined;

export interface BearersOptions {
  /** Where the API server is. Nothing else of it is used: each bearer speaks for himself. */
  readonly credentials: Pick<Credentials, 'server' | 'ca' | 'serverName' | 'insecure'>;
  readonly clock: Clock;
  readonly log: Logger;
}

const STANDS_MS = 30_000;
const REFUSAL_STANDS_MS = 5_000;
const MAX_VERDICTS = 10_000;
const RATE = { perSecond: 50, burst: 100 };
const LIMIT_MS = 5_000;

const BEARER = /^Bearer +([\w.~+/=-]{1,16384})$/i;

/**
 * Whether the bearer of a Kubernetes token may talk to a Sandbox: whether the API server lets him `create` its subresource
 * `connect`, as with `pods/exec`. It is asked with his own token, so that the gateway needs no right to ask about others.
 * Verdicts are kept for half a minute.
 */
export class Bearers {
  readonly #o: BearersOptions;
  readonly #rate = new TokenBucket(RATE);
  readonly #verdicts = new Map<string, { readonly verdict: Verdict; readonly untilMs: number }>();

  constructor(options: BearersOptions) {
    this.#o = options;
  }

  async judge(authorization: string | undefined, sandbox: { namespace: string; name: string }): Promise<Verdict> {
    const [, token] = BEARER.exec(authorization ?? '') ?? [];
    if (token === undefined) return NO_TOKEN;
    const { clock, log } = this.#o;
    const key = `${hash('sha256', token, 'base64')} ${sandbox.namespace}/${sandbox.name}`;
    const known = this.#verdicts.get(key);
    if (known !== undefined && known.untilMs > clock.monotonic()) return known.verdict;
    if (this.#rate.take(clock.monotonic(), 0) > 0) return UNSURE;
    try {
      const verdict = await this.#ask(token, sandbox);
      this.#remember(key, verdict);
      return verdict;
    } catch (err) {
      log.warn({ err }, 'the API server could not be asked whether a bearer may talk to a sandbox');
      return UNSURE;
    }
  }

  async #ask(token: string, { namespace, name }: { namespace: string; name: string }): Promise<Verdict> {
    const { clock } = this.#o;
    const { server, ca, serverName, insecure } = this.#o.credentials;
    const authorization = async (): Promise<string> => `Bearer ${token}`;
    const client = createKubeClient({ credentials: { server, ca, serverName, insecure, authorization }, clock });
    const what = { group: CORE_GROUP, resource: 'sandboxes', subresource: 'connect', verb: 'create', namespace, name };
    try {
      const review = { metadata: {}, spec: { resourceAttributes: what } };
      const { status } = await client.create(accessReviews, review, { deadlineMs: LIMIT_MS });
      return status?.allowed === true ? undefined : forbidden(namespace);
    } catch (error) {
      if (error instanceof KubeError && error.code === 'Unauthorized') return UNKNOWN_TOKEN;
      if (isForbidden(error)) return forbidden(namespace);
      throw error;
    } finally {
      await client.close();
    }
  }

  #remember(key: string, verdict: Verdict): void {
    const standsMs = verdict === undefined ? STANDS_MS : REFUSAL_STANDS_MS;
    this.#verdicts.delete(key);
    this.#verdicts.set(key, { verdict, untilMs: this.#o.clock.monotonic() + standsMs });
    if (this.#verdicts.size <= MAX_VERDICTS) return;
    const [oldest] = this.#verdicts.keys();
    if (oldest !== undefined) this.#verdicts.delete(oldest);
  }
}

const unauthorised = (status: 401 | 403, message: string): Verdict => ({ kind: 'unauthorised', status, message });

const NO_TOKEN = unauthorised(401, 'A Kubernetes token is needed to talk to a sandbox: Authorization: Bearer <token>');
const UNKNOWN_TOKEN = unauthorised(401, 'The API server does not know this token');
const UNSURE: Verdict = { kind: 'unsure', message: 'The API server cannot be asked about the token now; try again' };

const forbidden = (namespace: string): Verdict =>
  unauthorised(403, `The token's user may not create sandboxes/connect in the namespace ${namespace}`);
