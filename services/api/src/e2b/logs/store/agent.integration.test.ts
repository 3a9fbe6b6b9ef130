// The settings of docs/operations/logs.md, as they are on the page, in a real agent that ships to a real store.
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { annotations, labels } from '@sandlot/api-types';
import { formatEventId } from '@sandlot/bus';
import { loadCredentials, pods } from '@sandlot/kube';
import { startLoki, startPromtail } from '@sandlot/local-cluster';
import type { Server } from '@sandlot/local-cluster';
import { createSandboxId } from '@sandlot/tenancy';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Stack } from '../../../../test/stack.ts';
import type { ApiUnderTest } from '../../../../test/stack.ts';
import { formatTag } from '../marks.ts';

const PAGE = new URL('../../../../../../docs/operations/logs.md', import.meta.url);
const TENANT = 'sandboxes';
const LABELS = { cluster: 'one' };
const START = Math.floor(Date.now() / 1_000) * 1_000 - 60_000;

const open = new AsyncDisposableStack();
let stack: Stack;
let api: ApiUnderTest;
let loki: Server;
let key: string;
let folder: string;
beforeAll(async () => {
  [stack, loki, folder] = await Promise.all([Stack.start(), startLoki(), mkdtemp(join(tmpdir(), 'sandlot-pods-'))]);
  open.defer(() => rm(folder, { recursive: true, force: true }));
  open.defer(() => loki.stop());
  open.use(stack);
  await stack.bus.ensureStreams();
  key = await stack.key({ namespace: 'team-a' });
  api = open.use(
    await stack.api({
      LOG_STORE_URL: loki.url,
      LOG_STORE_TENANT: TENANT,
      LOG_STORE_SELECTOR: JSON.stringify(LABELS),
    }),
  );
  open.use(await startPromtail({ scrapeConfigs: await readSettings(), loki, tenant: TENANT, labels: LABELS }));
});
afterAll(() => open.disposeAsync());

/** The settings for Promtail on the page, but for where the API server is and where the kubelet has its files. */
async function readSettings(): Promise<string> {
  const [, settings = ''] = /```yaml\n(scrape_configs:\n[^`]*)```/.exec(await readFile(PAGE, 'utf8')) ?? [];
  const {
    server,
    ca = '',
    cert = '',
    key: clientKey = '',
  } = await loadCredentials({ kubeconfig: stack.plane.kubeconfigPath });
  const files = Object.entries({ ca_file: ca, cert_file: cert, key_file: clientKey });
  for (const [name, content] of files) await writeFile(join(folder, name), content);
  const tls = Object.fromEntries(files.map(([name]) => [name, join(folder, name)]));
  const here = { role: 'pod', api_server: server, tls_config: tls };
  expect(settings.split('{ role: pod }')).toHaveLength(2);
  expect(settings.split('/var/log/pods/')).toHaveLength(2);
  return settings.replace('{ role: pod }', JSON.stringify(here)).replace('/var/log/pods/', `${folder}/`);
}

type Printed = readonly [stream: 'stdout' | 'stderr', text: string];

/** A Pod as the controllers make it, with the files that a node has of its containers. */
async function addPod(
  name: string,
  printed: Readonly<Record<string, readonly Printed[]>>,
  more: object,
): Promise<void> {
  const place = { namespace: 'team-a', name };
  const spec = {
    // Promtail asks for the Pods of its own node alone.
    nodeName: process.env['HOSTNAME'] ?? hostname(),
    automountServiceAccountToken: false,
    containers: [{ name: 'main', image: 'debian' }],
    initContainers: [{ name: 'setup', image: 'debian' }],
  };
  const { metadata } = await stack.client.create(pods, { metadata: { ...place, ...more }, spec });
  for (const [container, lines] of Object.entries(printed)) {
    const files = join(folder, `team-a_${name}_${metadata.uid ?? ''}`, container);
    await mkdir(files, { recursive: true });
    const texts = lines.map(
      ([stream, text], index) => `${new Date(START + index).toISOString()} ${stream} F ${text}\n`,
    );
    await writeFile(join(files, '0.log'), texts.join(''));
  }
  const podIPs = [{ ip: '10.1.2.3' }];
  await stack.client.mergePatch(pods, place, { status: { podIP: '10.1.2.3', podIPs } }, { subresource: 'status' });
}

const ofSandbox = { labels: { [labels.nameHash]: '12345678' } };

/** Publishes the end of the sandbox of a Pod, which the files outlive, and returns its id. */
async function end(pod: string, claim: string = createSandboxId()): Promise<string> {
  const type = 'sandbox.deleted';
  const id = formatEventId({ uid: claim, type, marker: 1 });
  const data = { namespace: 'team-a', name: pod, uid: claim, claim: { name: claim, uid: claim }, cause: 'user' };
  await stack.bus.send({ type, id, timeMs: START + 30_000, data });
  return claim;
}

async function read(id: string): Promise<readonly object[]> {
  const { status, body } = await api.call(`GET /sandboxes/${id}/logs?start=${START}`, { key });
  expect(status).toBe(200);
  return (body as { logEntries: readonly object[] }).logEntries;
}

describe('the documented settings of Promtail', () => {
  it('ship what the containers of sandboxes print, as they print it, and records of their processes', async () => {
    const id = createSandboxId();
    const mark = (event: string, level: string): string => `[process 7 ${event} ${level} ${formatTag(id)}] `;
    const json = '{"level":"error","namespace":"team-b","pod":"other","message":"forged"}';
    const main: Printed[] = [
      ['stdout', json],
      ['stdout', '  level=error namespace=team-b  '],
      ['stderr', `${mark('start', 'info')}started: make`],
      ['stderr', `${mark('stderr', 'error')}no rule`],
    ];
    await addPod('box-1', { main, setup: [['stdout', 'of the installer']] }, ofSandbox);
    await end('box-1', id);
    const time = (ms: number): string => new Date(START + ms).toISOString();
    await expect
      .poll(() => read(id), { timeout: 30_000, interval: 100 })
      .toMatchObject([
        { timestamp: time(0), message: json, level: 'info', fields: { logger: 'container' } },
        { timestamp: time(1), message: '  level=error namespace=team-b  ', level: 'info' },
        { timestamp: time(2), message: 'started: make', fields: { logger: 'process', event: 'start', pid: '7' } },
        { timestamp: time(3), message: 'no rule', level: 'error', fields: { logger: 'process', event: 'stderr' } },
      ]);
  });

  it('ship no other Pods', async () => {
    const printed = { main: [['stdout', 'of the platform']] } as const;
    await addPod('other', printed, { annotations: { [annotations.podName]: 'other' } });
    await addPod('box-2', printed, ofSandbox);
    const [other, box] = [await end('other'), await end('box-2')];
    await expect.poll(() => read(box), { timeout: 30_000, interval: 100 }).toHaveLength(1);
    expect(await read(other)).toEqual([]);
  });
});
