import type { RequestListener } from 'node:http';
import type { SandboxClaim } from '@sandlot/api-types';
import type { Informer, Store } from '@sandlot/kube';
import type { Clock } from '@sandlot/std';
import { listen } from '@sandlot/telemetry';
import type { Refused } from '../plane/protocol.ts';
import { BY_UID } from '../wiring/informers.ts';
import { Refusals } from './refusals.ts';
import type { Destination } from './refusals.ts';

export interface RefusalServerOptions {
  readonly port: number;
  readonly claims: Informer<SandboxClaim>;
  readonly clock: Clock;
}

export interface RefusalServer extends AsyncDisposable {
  /** The real port, also when port 0 was requested. */
  readonly port: number;
  /** Counts a report of the data plane. */
  add(refused: Refused): void;
}

/**
 * Counts what was refused to the claims that there are, and serves it at `GET /refusals/<namespace>/<claim uid>`. Each replica
 * has what went through it: readers add up the answers of all. Rejects when the port cannot be bound.
 */
export async function serveRefusals({ port, claims, clock }: RefusalServerOptions): Promise<RefusalServer> {
  const refusals = new Refusals(clock);
  const following = claims.onChange(({ old, next }) => {
    const uid = old?.metadata.uid;
    if (uid !== undefined && uid !== next?.metadata.uid) refusals.forget(uid);
  });
  const listener = await listen({ port }, answer(refusals, claims.store));
  return {
    port: listener.port,
    add: (refused) => {
      // A report may come after its claim has gone, and nothing would forget that one.
      if (findClaim(claims.store, refused.claimUid) !== undefined) refusals.add(refused);
    },
    [Symbol.asyncDispose]: async () => {
      following[Symbol.dispose]();
      await listener.close();
    },
  };
}

function findClaim(claims: Store<SandboxClaim>, uid: string): SandboxClaim | undefined {
  const [claim] = claims.listByIndex(BY_UID, uid);
  return claim;
}

function answer(refusals: Refusals, claims: Store<SandboxClaim>): RequestListener {
  return (request, response) => {
    const [path = ''] = (request.url ?? '').split('?');
    const [, namespace, uid = ''] = /^\/refusals\/([^/]+)\/([^/]+)$/u.exec(path) ?? [];
    response.setHeader('Content-Type', 'application/json; charset=utf-8');
    if (request.method !== 'GET') {
      response.writeHead(405, { Allow: 'GET' }).end('{"error":"only GET is served"}\n');
    } else if (namespace === undefined || findClaim(claims, uid)?.metadata.namespace !== namespace) {
      response.writeHead(404).end('{"error":"there is no such claim"}\n');
    } else {
      response.writeHead(200).end(`${JSON.stringify({ refusals: refusals.list(uid).map(format) })}\n`);
    }
  };
}

function format({ lastMs, ...destination }: Destination): object {
  return { ...destination, last: new Date(lastMs).toISOString() };
}
