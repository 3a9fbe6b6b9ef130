import { mkdtempDisposable, readFile } from 'node:fs/promises';
import dns from 'node:dns';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import tls from 'node:tls';
import { pods } from '@sandlot/kube';
import type { KubeClient } from '@sandlot/kube';
import { ensureBinaries, issueCertificates } from '@sandlot/local-cluster';
import { inject } from 'vitest';
import { z } from 'zod';
import { runKubectlOrFail } from './kubectl.ts';
import { eventually } from './team.ts';

/** The port that clients expect. The sysctl lets the pod's user, who is not root, listen on it. */
const TLS_PORT = 443;
/** The names of the ports to which the release's Services forward. */
const SERVED: ReadonlySet<string> = new Set(['http', 'https', 'router']);
const SYSCTL = { name: 'net.ipv4.ip_unprivileged_port_start', value: String(TLS_PORT) };

/** A gateway of the release with TLS, and a certificate for the sandboxes' domain by its own authority. */
export interface TlsGateway extends AsyncDisposable {
  /** The certificate of the authority, as PEM. */
  readonly caFile: string;
  readonly ca: string;
  readonly address: string;
}

const named = z.looseObject({ name: z.string() });
const containerSchema = z.looseObject({
  env: z.array(named),
  ports: z.array(named),
  volumeMounts: z.array(named).default([]),
});
/** The parts of the release's gateway that the new pod reuses: image, environment, probes, account. */
const deployment = z.object({
  spec: z.object({
    template: z.object({
      metadata: z.looseObject({ labels: z.record(z.string(), z.string()) }),
      spec: z.looseObject({
        containers: z.tuple([containerSchema]),
        volumes: z.array(named).default([]),
        securityContext: z.looseObject({}).default({}),
      }),
    }),
  }),
});

/** Starts a TLS gateway beside the release's own. Disposing removes it. */
export async function startTlsGateway(client: KubeClient, domain: string): Promise<TlsGateway> {
  const namespace = inject('releaseNamespace');
  const name = `gateway-tls-${process.pid}`;
  const folder = await mkdtempDisposable(join(tmpdir(), 'sandlot-door-'));
  const dir = folder.path;
  const pki = (await ensureBinaries(['pki']))('pki');
  await issueCertificates(pki, {
    dir,
    certificates: [{ name: 'door', commonName: 'door', dnsNames: [`*.${domain}`] }],
  });
  const files = [`--cert=${join(dir, 'door.crt')}`, `--key=${join(dir, 'door.key')}`];
  await runKubectlOrFail(['--namespace', namespace, 'create', 'secret', 'tls', name, ...files]);
  await runKubectlOrFail(
    ['--namespace', namespace, 'apply', '-f', '-'],
    JSON.stringify(await readPod(namespace, name)),
  );
  const address = await eventually('the gateway with TLS is Ready', async () => {
    const { status } = await client.get(pods, { namespace, name });
    const isReady = status?.conditions?.some(({ type, status: state }) => type === 'Ready' && state === 'True');
    return isReady === true ? status?.podIP : undefined;
  });
  const caFile = join(dir, 'ca.crt');
  return {
    caFile,
    ca: await readFile(caFile, 'utf8'),
    address,
    [Symbol.asyncDispose]: async () => {
      await runKubectlOrFail(['--namespace', namespace, 'delete', `pod/${name}`, `secret/${name}`, '--wait=false']);
      await folder.remove();
    },
  };
}

async function readPod(namespace: string, name: string): Promise<object> {
  const json = await runKubectlOrFail([
    '--namespace',
    namespace,
    'get',
    'deployment',
    'sandlot-gateway',
    '--output=json',
  ]);
  const { metadata, spec } = deployment.parse(JSON.parse(json)).spec.template;
  const [container] = spec.containers;
  const mountPath = '/etc/gateway-tls';
  // Without the ports that the release's Services name, they send no request of another test to this pod.
  const ports = container.ports.filter(({ name: port }) => !SERVED.has(port));
  const env = [
    ...container.env,
    { name: 'TLS_CERT_FILE', value: `${mountPath}/tls.crt` },
    { name: 'TLS_KEY_FILE', value: `${mountPath}/tls.key` },
    { name: 'TLS_PORT', value: String(TLS_PORT) },
  ];
  const volumeMounts = [...container.volumeMounts, { name: 'tls', mountPath, readOnly: true }];
  const volumes = [...spec.volumes, { name: 'tls', secret: { secretName: name } }];
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, labels: metadata.labels },
    spec: {
      ...spec,
      volumes,
      securityContext: { ...spec.securityContext, sysctls: [SYSCTL] },
      containers: [{ ...container, env, ports, volumeMounts }],
    },
  };
}

/** Makes this process resolve names below the domain to the gateway and trust its authority, as DNS and certificates would. */
export function trust(tlsGateway: TlsGateway, domain: string): void {
  const before = dns.lookup;
  const lookup = (name: string, ...rest: [dns.LookupOptions, () => void]): void => {
    before(name.endsWith(`.${domain}`) ? tlsGateway.address : name, ...rest);
  };
  Object.assign(dns, { lookup });
  tls.setDefaultCACertificates([...tls.getCACertificates('default'), tlsGateway.ca]);
}

/** Starts an HTTP proxy whose tunnels all lead to the gateway, for processes whose name resolution cannot be changed. */
export async function proxyTo({ address }: TlsGateway): Promise<AsyncDisposable & { readonly url: string }> {
  const server = createServer().on('connect', (_, socket, head) => {
    const upstream = connect(TLS_PORT, address, () => {
      socket.write('HTTP/1.1 200 Connection Established\r\n\r\n');
      upstream.write(head);
      socket.pipe(upstream).pipe(socket);
    });
    upstream.on('error', () => socket.destroy());
    socket.on('error', () => upstream.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
