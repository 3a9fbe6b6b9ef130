import { createHash } from 'node:crypto';
import { CORE_GROUP } from '@sandlot/api-types';
import { defineResource, TokenBucket } from '@sandlot/kube';
import type { KubeClient, KubeObject } from '@sandlot/kube';
import type { Clock, Logger } from '@sandlot/std';
import type { Refusal } from './refusals.ts';

interface TokenReview extends KubeObject {
  spec: { token: string };
  status?: { authenticated?: boolean; user?: KubeUser };
}

interface KubeUser {
  username?: string;
  uid?: string;
  groups?: string[];
  extra?: Record<string, string[]>;
}

interface SubjectAccessReview extends KubeObject {
  spec: {
    user?: string;
    uid?: string;
    groups?: string[];
    extra?: Record<string, string[]>;
    resourceAttributes: Record<string, string>;
  };
  status?: { allowed: boolean };
}

const tokenReviews = defineResource<TokenReview>({
  group: 'authentication.k8s.io',
  version: 'v1',
  plural: 'tokenreviews',
  kind: 'TokenReview',
  namespaced: false,
});

const subjectAccessReviews = defineResource<SubjectAccessReview>({
  group: 'authorization.k8s.io',
  version: 'v1',
  plural: 'subjectaccessreviews',
  kind: 'SubjectAccessReview',
  namespaced: false,
});

type Verdict = Extract<Refusal, { kind: 'unauthorised' | 'unsure' }> | undefined;

const STANDS_MS = 30_000;
const REFUSAL_STANDS_MS = 5_000;
const MAX_VERDICTS = 10_000;
const RATE = { perSecond: 50, burst: 100 };
const LIMIT_MS = 5_000;

const unauthorised = (status: 401 | 403, message: string): Verdict => ({ kind: 'unauthorised', status, message });

/**
 * Whether the bearer of a Kubernetes token may talk to a Sandbox: the API server knows the token, and lets its user
 * `create` the subresource `connect` of the Sandbox, as with `pods/exec`. Verdicts are kept for half a minute.
 */
export class Bearers {
  readonly #client: KubeClient;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #rate = new TokenBucket(RATE);
  readonly #verdicts = new Map<string, { readonly verdict: Verdict; readonly untilMs: number }>();

  constructor({ client, clock, log }: { readonly client: KubeClient; readonly clock: Clock; readonly log: Logger }) {
    this.#client = client;
    this.#clock = clock;
    this.#log = log;
  }

  /** Undefined: he may. */
  async judge(authorization: string | undefined, sandbox: { namespace: string; name: string }): Promise<Verdict> {
    const [, token] = /^Bearer +([\w.~+/=-]+)$/i.exec(authorization ?? '') ?? [];
    if (token === undefined) {
      return unauthorised(401, 'A Kubernetes token is needed to talk to a sandbox: Authorization: Bearer <token>');
    }
    const key = `${createHash('sha256').update(token).digest('base64')} ${sandbox.namespace}/${sandbox.name}`;
    const known = this.#verdicts.get(key);
    if (known !== undefined && known.untilMs > this.#clock.monotonic()) return known.verdict;
    if (this.#rate.take(this.#clock.monotonic(), 0) > 0) return UNSURE;
    try {
      const verdict = await this.#ask(token, sandbox);
      this.#remember(key, verdict);
      return verdict;
    } catch (err) {
      this.#log.warn({ err }, 'the API server could not be asked whether a bearer may talk to a sandbox');
      return UNSURE;
    }
  }

  async #ask(token: string, { namespace, name }: { namespace: string; name: string }): Promise<Verdict> {
    const options = { deadlineMs: LIMIT_MS };
    const review = await this.#client.create(tokenReviews, { metadata: {}, spec: { token } }, options);
    if (review.status?.authenticated !== true) return unauthorised(401, 'The API server does not know this token');
    const { username = '', uid, groups, extra } = review.status.user ?? {};
    const resource = { group: CORE_GROUP, resource: 'sandboxes', subresource: 'connect', verb: 'create' };
    const spec = {
      user: username,
      ...(uid === undefined ? {} : { uid }),
      ...(groups === undefined ? {} : { groups }),
      ...(extra === undefined ? {} : { extra }),
      resourceAttributes: { ...resource, namespace, name },
    };
    const access = await this.#client.create(subjectAccessReviews, { metadata: {}, spec }, options);
    if (access.status?.allowed === true) return undefined;
    return unauthorised(403, `${username} may not create sandboxes/connect in the namespace ${namespace}`);
  }

  #remember(key: string, verdict: Verdict): void {
    const standsMs = verdict === undefined ? STANDS_MS : REFUSAL_STANDS_MS;
    this.#verdicts.delete(key);
    this.#verdicts.set(key, { verdict, untilMs: this.#clock.monotonic() + standsMs });
    if (this.#verdicts.size <= MAX_VERDICTS) return;
    const [oldest] = this.#verdicts.keys();
    if (oldest !== undefined) this.#verdicts.delete(oldest);
  }
}

const UNSURE: Verdict = { kind: 'unsure', message: 'The API server cannot be asked about the token now; try again' };
