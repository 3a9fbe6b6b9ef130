import type { RequestListener } from 'node:http';
import type { SandboxClaim } from '@sandlot/api-types';
import type { Store } from '@sandlot/kube';
import { listen } from '@sandlot/telemetry';
import { findClaim } from '../wiring/informers.ts';

/** What this replica says of a claim, as JSON. */
export type Report = (claim: SandboxClaim) => object;

export interface ReportServerOptions {
  readonly port: number;
  readonly claims: Store<SandboxClaim>;
  /** By the first part of their path. */
  readonly reports: Readonly<Record<string, Report>>;
}

/**
 * Serves each report at `GET /<report>/<namespace>/<claim uid>`: 404 while this replica does not know the claim. Rejects when the
 * port cannot be bound.
 */
export function serveReports({ port, claims, reports }: ReportServerOptions): ReturnType<typeof listen> {
  return listen({ port }, answer(claims, new Map(Object.entries(reports))));
}

function answer(claims: Store<SandboxClaim>, reports: ReadonlyMap<string, Report>): RequestListener {
  return (request, response) => {
    const [path = ''] = (request.url ?? '').split('?');
    const [, name = '', namespace, uid = ''] = /^\/([a-z]+)\/([^/]+)\/([^/]+)$/u.exec(path) ?? [];
    const [report, claim] = [reports.get(name), findClaim(claims, uid)];
    response.setHeader('Content-Type', 'application/json; charset=utf-8');
    if (request.method !== 'GET') {
      response.writeHead(405, { Allow: 'GET' }).end('{"error":"only GET is served"}\n');
    } else if (report === undefined || claim === undefined || claim.metadata.namespace !== namespace) {
      response.writeHead(404).end('{"error":"there is no such claim"}\n');
    } else {
      response.writeHead(200).end(`${JSON.stringify(report(claim))}\n`);
    }
  };
}
