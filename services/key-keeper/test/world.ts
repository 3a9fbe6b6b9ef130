import { secrets } from '@sandlot/kube';
import type { Secret } from '@sandlot/kube';
import { startFakeApiServer } from '@sandlot/kube-testkit';
import type { FakeApiServer } from '@sandlot/kube-testkit';
import { silentLogger } from '@sandlot/std';
import { FakeClock } from '@sandlot/std/testing';
import { wantedCredentials } from '../src/plan/wanted.ts';
import { reconcile } from '../src/reconcile.ts';

const NAMESPACE = 'sandlot-system';

/** The credentials of a small release. */
export const WANTED = wantedCredentials.parse({
  secrets: [
    { name: 'x-runtime', entries: { signing: 'signing', 'envd.key': 'tokens', 'identity.seed': 'bytes' } },
    { name: 'x-redis-auth', labels: { app: 'x' }, entries: { admin: 'password', 'claim-controller': 'password' } },
    { name: 'x-bucket-keys', entries: { keys: 'sealing' } },
    { name: 'x-egress-ca', entries: { tls: 'authority' } },
  ],
  authorities: [
    {
      name: 'x-node authority',
      certificates: [
        { name: 'x-node-tls', subject: 'sandlot-node', hosts: ['sandlot-node'] },
        { name: 'x-saver-tls', subject: 'saver', hosts: ['saver'] },
      ],
    },
  ],
});

export type Entries = Readonly<Record<string, string>>;

/** An API server in this process, with passes of the keeper over it. */
export class World implements AsyncDisposable {
  readonly clock = new FakeClock();
  readonly api: FakeApiServer;

  private constructor(api: FakeApiServer) {
    this.api = api;
  }

  static async start(): Promise<World> {
    return new World(await startFakeApiServer({ resources: [secrets] }));
  }

  /** One pass; returns what it refuses. */
  pass(wanted = WANTED): Promise<string | undefined> {
    const client = this.api.client({ user: 'key-keeper' });
    return reconcile({ client, clock: this.clock, namespace: NAMESPACE, wanted, log: silentLogger });
  }

  give(name: string, entries: Entries): void {
    const data = Object.entries(entries).map(([key, text]) => [key, Buffer.from(text).toString('base64')] as const);
    this.api.seed(secrets, { metadata: { namespace: NAMESPACE, name }, data: Object.fromEntries(data) });
  }

  find(name: string): Secret | undefined {
    return this.api.object(secrets, { namespace: NAMESPACE, name });
  }

  read(name: string): Record<string, string> {
    const data = Object.entries(this.find(name)?.data ?? {});
    return Object.fromEntries(data.map(([key, text]) => [key, Buffer.from(text, 'base64').toString()]));
  }

  readAll(): Readonly<Record<string, Entries>> {
    const items = this.api.objects(secrets, NAMESPACE).map(({ metadata: { name = '' } }) => name);
    return Object.fromEntries(items.map((name) => [name, this.read(name)]));
  }

  remove(name: string): void {
    this.api.remove(secrets, { namespace: NAMESPACE, name });
  }

  change(name: string, entries: Readonly<Record<string, string | undefined>>): void {
    this.api.change(secrets, { namespace: NAMESPACE, name }, (secret) => {
      const data = { ...secret.data };
      for (const [key, text] of Object.entries(entries)) {
        if (text === undefined) Reflect.deleteProperty(data, key);
        else data[key] = Buffer.from(text).toString('base64');
      }
      secret.data = data;
    });
  }

  /** Asks for a stage of a rotation, as the operator does, and lets the keeper see it. */
  async rotate(name: string, text: string): Promise<string | undefined> {
    this.api.change(secrets, { namespace: NAMESPACE, name }, ({ metadata }) => {
      metadata.annotations = { ...metadata.annotations, 'sandlot.dev/rotate': text };
    });
    return this.pass();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.api.stop();
  }
}
