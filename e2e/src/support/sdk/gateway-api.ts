import { once } from 'node:events';
import { createServer, request } from 'node:http';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { findGatewayApiCrds } from '@sandlot/local-cluster';
import { runKubectlOrFail } from '../kubectl.ts';
import type { Team } from '../team.ts';

/** Clients read the address of a Gateway and take its port for granted. */
const ADDRESS = '127.0.0.80';
const PORT = 80;
const CRD = 'gateways.gateway.networking.k8s.io';

export interface GatewayOptions {
  /** The gateway of the release. */
  readonly target: string;
  /** What the Gateway adds to each request, as its HTTPRoute says. */
  readonly token: string;
}

/** A Gateway of the Gateway API. Disposing removes it, and its kind. */
export interface GatewayOfApi extends AsyncDisposable {
  readonly name: string;
}

/**
 * Makes a Gateway in the namespace of a team and does what its implementation would, which the local cluster does not have: passes
 * requests on with a token, and writes the address into the status.
 */
export async function createGateway(team: Team, options: GatewayOptions): Promise<GatewayOfApi> {
  await using stack = new AsyncDisposableStack();
  await runKubectlOrFail([
    'apply',
    '--filename',
    join(await findGatewayApiCrds(), 'gateway.networking.k8s.io_gateways.yaml'),
  ]);
  stack.defer(async () => {
    await runKubectlOrFail(['delete', 'crd', CRD]);
  });
  await runKubectlOrFail(['wait', '--for=condition=Established', `crd/${CRD}`, '--timeout=60s']);
  stack.use(await startProxy(options));
  const name = 'entry';
  await team.apply(formatGateway(name));
  const status = JSON.stringify({ status: { addresses: [{ type: 'IPAddress', value: ADDRESS }] } });
  await team.kubectl('patch', 'gateway', name, '--subresource=status', '--type=merge', '--patch', status);
  const made = stack.move();
  return { name, [Symbol.asyncDispose]: () => made.disposeAsync() };
}

const formatGateway = (name: string): string => `
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: { name: ${name} }
spec:
  gatewayClassName: ours
  listeners: [{ name: http, port: ${PORT}, protocol: HTTP }]
`;

async function startProxy({ target, token }: GatewayOptions): Promise<AsyncDisposable> {
  const server = createServer((incoming, answer) => {
    const { method, headers, url = '' } = incoming;
    const outgoing = request(new URL(url, target), {
      method,
      headers: { ...headers, authorization: `Bearer ${token}` },
    });
    outgoing.on('response', (response) => {
      answer.writeHead(response.statusCode ?? 502, response.headers);
      pipeline(response, answer).catch(() => answer.destroy());
    });
    pipeline(incoming, outgoing).catch(() => answer.destroy());
  });
  server.listen(PORT, ADDRESS);
  await once(server, 'listening');
  return {
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await server[Symbol.asyncDispose]();
    },
  };
}
