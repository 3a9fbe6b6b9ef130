// Stands in for a kubelet, as far as the API server asks it for logs of containers.
import { once } from 'node:events';
import { createServer } from 'node:https';
import type { ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { nodes, pods } from '@sandlot/kube';
import type { KubeClient } from '@sandlot/kube';
import { fixtureCertificate, fixtureKey } from '@sandlot/kube-testkit';

/** A line that a container wrote. */
export interface Written {
  readonly at: string;
  readonly text: string | Buffer;
}

export interface KubeletStandIn extends AsyncDisposable {
  /** By name of the Pod: its lines, or what answers in their place. */
  readonly logs: Map<string, readonly Written[] | ((response: ServerResponse) => void)>;
  /** Queries that it got. */
  readonly asked: URLSearchParams[];
  /** Creates the Pod of a sandbox on this node. */
  addPod(namespace: string, name: string): Promise<void>;
}

const NODE = 'node-of-logs';

export async function startKubeletStandIn(client: KubeClient): Promise<KubeletStandIn> {
  const logs: KubeletStandIn['logs'] = new Map();
  const asked: URLSearchParams[] = [];
  const server = createServer({ cert: fixtureCertificate, key: fixtureKey }, (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'https://kubelet');
    asked.push(searchParams);
    const log = logs.get(pathname.split('/')[3] ?? '') ?? [];
    if (typeof log === 'function') log(response);
    else response.writeHead(200).end(selectText(log, searchParams));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await client.create(nodes, { metadata: { name: NODE } });
  const status = {
    addresses: [{ type: 'InternalIP', address: '127.0.0.1' }],
    daemonEndpoints: { kubeletEndpoint: { Port: port } },
  };
  await client.mergePatch(nodes, { name: NODE }, { status }, { subresource: 'status' });
  return {
    logs,
    asked,
    async addPod(namespace, name) {
      const spec = {
        nodeName: NODE,
        automountServiceAccountToken: false,
        containers: [{ name: 'main', image: 'debian' }],
      };
      await client.create(pods, { metadata: { namespace, name }, spec });
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** As a kubelet does it: lines from a time on, or the last ones, up to so many bytes. */
function selectText(log: readonly Written[], query: URLSearchParams): Buffer {
  const since = Date.parse(query.get('sinceTime') ?? '1970-01-01T00:00:00Z');
  const tail = Number(query.get('tailLines') ?? Infinity);
  const lines = log.filter(({ at }) => Date.parse(at) >= since);
  const chosen = Number.isFinite(tail) ? lines.slice(-tail) : lines;
  const bytes = Buffer.concat(
    chosen.map(({ at, text }) => Buffer.concat([Buffer.from(`${at} `), Buffer.from(text), Buffer.from('\n')])),
  );
  return bytes.subarray(0, Number(query.get('limitBytes') ?? bytes.length));
}
