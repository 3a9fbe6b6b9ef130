import { loadavg } from 'node:os';
import { annotations, sandboxClaims } from '@sandlot/api-types';
import { createKubeClient, loadCredentials, secrets } from '@sandlot/kube';
import type { KubeClient } from '@sandlot/kube';
import { openCluster } from '@sandlot/local-cluster';
import { checkoutRoot } from '@sandlot/up';
import { openUpstream } from '../../src/support/egress/upstream.ts';
import type { Upstream } from '../../src/support/egress/upstream.ts';
import { openSandbox } from '../../src/support/sdk/client.ts';

const OUTSIDE = '192.175.48.85';
const HOST = 'api.effect.example';
const NAMESPACE = 'tenant-a';
const SECRET = 'bench-effect';
const LIMIT_MS = 30_000;
/** Between two requests of the sandbox over its one connection: how exact a time is. */
const EVERY_MS = 2;

/** Sends requests over one connection as long as it lasts, and opens the next one. */
const CLIENT = `
import http.client, time
while True:
    try:
        c = http.client.HTTPSConnection('${HOST}', timeout=5)
        while True:
            c.request('GET', '/headers'); c.getresponse().read(); time.sleep(${EVERY_MS / 1_000})
    except Exception:
        time.sleep(${EVERY_MS / 1_000})
`;

/**
 * How long after its write a change of a Secret, and one of a rule, is in the requests that a server gets. The server and the
 * writer are this process, so that one clock has both moments. Needs the cluster of `npm run up`.
 */
export async function measureEffects(rounds: number): Promise<string> {
  const load = loadavg()[0]?.toFixed(1) ?? '?';
  const cluster = await openCluster({ root: checkoutRoot });
  if (cluster === undefined) throw new Error('no cluster is up; run npm run up');
  await using stack = new AsyncDisposableStack();
  const credentials = await loadCredentials({ kubeconfig: cluster.kubeconfigPath });
  const client = stack.adopt(createKubeClient({ credentials }), (made) => made.close());
  const upstream = stack.use(await openUpstream({ address: OUTSIDE, names: [HOST] }));
  stack.defer(async () => {
    await client.delete(secrets, { namespace: NAMESPACE, name: SECRET });
  });
  await createSecret(client);
  const sandbox = stack.use(await openSandbox());
  const write = { client, upstream, name: sandbox.sandboxId };
  await setRule(write, 'start');
  await sandbox.files.write('/tmp/client.py', CLIENT);
  await sandbox.commands.run('python3 /tmp/client.py', { background: true, timeoutMs: 0 });
  await awaitMark(upstream, 'start 0');
  const [ofSecret, ofRule]: [number[], number[]] = [[], []];
  for (let round = 1; round <= rounds; round += 1) {
    ofSecret.push(await timeChange(upstream, `start ${round}`, () => setSecret(client, String(round))));
  }
  await setSecret(client, '0');
  for (let round = 1; round <= rounds; round += 1) {
    ofRule.push(await timeChange(upstream, `rule-${round} 0`, () => setRule(write, `rule-${round}`)));
  }
  const date = new Date().toISOString().slice(0, 10);
  const rows = [formatRow('a Secret', ofSecret), formatRow('a rule', ofRule)];
  return [
    `${date}, load ${load} before, ${rounds} changes each\n`,
    '| a change of | p50 | p99 | longest |',
    '| --- | ---: | ---: | ---: |',
    ...rows,
  ].join('\n');
}

async function timeChange(upstream: Upstream, mark: string, change: () => Promise<unknown>): Promise<number> {
  const beganMs = performance.now();
  await change();
  return (await awaitMark(upstream, mark)) - beganMs;
}

/** Resolves with the time of the first request that has the mark. */
async function awaitMark(upstream: Upstream, mark: string): Promise<number> {
  const deadlineMs = performance.now() + LIMIT_MS;
  for (;;) {
    const found = upstream.requests.find(({ headers }) => headers['x-mark'] === mark);
    if (found !== undefined) return found.atMs;
    if (performance.now() > deadlineMs) throw new Error(`no request has the mark ${mark} after ${LIMIT_MS} ms`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

function createSecret(client: KubeClient): Promise<unknown> {
  return client.create(secrets, {
    metadata: {
      namespace: NAMESPACE,
      name: SECRET,
      labels: { 'sandlot.dev/egress-credential': 'true' },
      annotations: { [annotations.egressHosts]: HOST },
    },
    data: { token: encode('0') },
  });
}

function setSecret(client: KubeClient, text: string): Promise<unknown> {
  return client.mergePatch(secrets, { namespace: NAMESPACE, name: SECRET }, { data: { token: encode(text) } });
}

interface Rule {
  readonly client: KubeClient;
  readonly name: string;
}

/** The rule sets a header of this text, a blank and the value of the Secret. */
function setRule({ client, name }: Rule, text: string): Promise<unknown> {
  const valueFrom = { secretKeyRef: { name: SECRET, key: 'token' } };
  const rules = [{ host: HOST, headers: [{ name: 'X-Mark', valueFrom, format: `${text} {}` }] }];
  const metadata = { annotations: { [annotations.network]: JSON.stringify({ rules }) } };
  return client.mergePatch(sandboxClaims, { namespace: NAMESPACE, name }, { metadata });
}

function encode(text: string): string {
  return Buffer.from(text).toString('base64');
}

function formatRow(what: string, times: readonly number[]): string {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (share: number): string =>
    `${Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN)} ms`;
  return `| ${what} | ${at(0.5)} | ${at(0.99)} | ${at(1)} |`;
}
