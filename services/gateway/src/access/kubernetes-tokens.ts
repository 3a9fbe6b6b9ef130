import { hash } from 'node:crypto';
import { CORE_GROUP } from '@sandlot/api-types';
import { createKubeClient, defineResource, isForbidden, KubeError } from '@sandlot/kube';
import type { Credentials, KubeObject } from '@sandlot/kube';
import type { Clock, Logger } from '@sandlot/std';
import { CredentialChecks } from './credential-checks.ts';
import type { Denial } from './denial.ts';
import { ExpiringMap } from '../limits/expiring-map.ts';

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

export interface KubernetesTokensOptions {
  /** Where the API server is. The gateway's own credentials are not used: each token speaks for its user. */
  readonly credentials: Pick<Credentials, 'server' | 'ca' | 'serverName' | 'insecure'>;
  readonly clock: Clock;
  readonly log: Logger;
}

interface SandboxName {
  readonly namespace: string;
  readonly name: string;
}

/** How long an answer of the API server counts. */
const ALLOWED_MS = 30_000;
const DENIED_MS = 5_000;
const MAX_ANSWERS = 10_000;
const REQUEST_LIMIT_MS = 5_000;

const BEARER = /^Bearer +([\w.~+/=-]{1,16384})$/i;

/**
 * Decides whether the user of a Kubernetes token may talk to a Sandbox: whether the user may `create` its subresource
 * `connect`, as with `pods/exec`. It asks the API server with that token, so the gateway needs no right to review other users'
 * access, and remembers the answer for a while.
 */
export class KubernetesTokens {
  readonly #o: KubernetesTokensOptions;
  readonly #checks: CredentialChecks;
  readonly #answers = new ExpiringMap<Denial>(MAX_ANSWERS);

  constructor(options: KubernetesTokensOptions) {
    this.#o = options;
    this.#checks = new CredentialChecks(options.clock);
  }

  /** Why the token does not allow the sandbox; `source` is who asks (see `limits/source.ts`). */
  async authorise(authorization: string | undefined, sandbox: SandboxName, source: string): Promise<Denial> {
    const [, token] = BEARER.exec(authorization ?? '') ?? [];
    if (token === undefined) return NO_TOKEN;
    const { clock, log } = this.#o;
    const digest = hash('sha256', token, 'base64');
    const key = `${digest} ${sandbox.namespace}/${sandbox.name}`;
    const known = this.#answers.get(key, clock.monotonic());
    if (known !== undefined) return known.value;
    const refused = this.#checks.take(digest, source);
    if (refused !== undefined) return refused;
    try {
      const denial = await this.#ask(token, sandbox);
      if (denial !== UNKNOWN_TOKEN) this.#checks.recordValid(digest);
      const keptMs = denial === undefined ? ALLOWED_MS : DENIED_MS;
      this.#answers.set(key, denial, clock.monotonic() + keptMs);
      return denial;
    } catch (err) {
      log.warn({ err }, 'the API server could not be asked whether a token allows a sandbox');
      return UNSURE;
    }
  }

  async #ask(token: string, { namespace, name }: SandboxName): Promise<Denial> {
    const { clock } = this.#o;
    const { server, ca, serverName, insecure } = this.#o.credentials;
    const authorization = async (): Promise<string> => `Bearer ${token}`;
    const client = createKubeClient({
      credentials: { server, ca, serverName, insecure, getAuthorization: authorization },
      clock,
    });
    const what = { group: CORE_GROUP, resource: 'sandboxes', subresource: 'connect', verb: 'create', namespace, name };
    try {
      const review = { metadata: {}, spec: { resourceAttributes: what } };
      const { status } = await client.create(accessReviews, review, { deadlineMs: REQUEST_LIMIT_MS });
      return status?.allowed === true ? undefined : forbidden(namespace);
    } catch (error) {
      if (error instanceof KubeError && error.code === 'Unauthorized') return UNKNOWN_TOKEN;
      if (isForbidden(error)) return forbidden(namespace);
      throw error;
    } finally {
      await client.close();
    }
  }
}

const unauthorised = (status: 401 | 403, message: string): Denial => ({ kind: 'unauthorised', status, message });

const NO_TOKEN = unauthorised(401, 'A Kubernetes token is needed to talk to a sandbox: Authorization: Bearer <token>');
const UNKNOWN_TOKEN = unauthorised(401, 'The API server does not know this token');
const UNSURE: Denial = { kind: 'unsure', message: 'The API server cannot be asked about the token now; try again' };

const forbidden = (namespace: string): Denial =>
  unauthorised(403, `The token's user may not create sandboxes/connect in the namespace ${namespace}`);
