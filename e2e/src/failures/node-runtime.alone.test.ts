import { readClusterStatus } from '@sandlot/local-cluster';
import { checkoutRoot, ensureUp } from '@sandlot/up';
import { Volume } from 'e2b';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SlowBuild } from '../support/builds/slow-build.ts';
import { Templates } from '../support/builds/templates.ts';
import { openSandbox } from '../support/sdk/client.ts';
import { WebhookReceiver } from '../support/webhooks/receiver.ts';
import { beginWork, buildDigestCommand, PRINTED, UPLOAD_BYTES, WORK } from '../support/sdk/work.ts';
import { eventually } from '../support/team.ts';

/** What runs the containers of a node. */
const RUNTIME = ['containerd', 'kubelet'];
const MIB = 1_048_576;
const VOLUME_MIB = 24;

const stack = new AsyncDisposableStack();
let templates: Templates;
let receiver: WebhookReceiver;
beforeAll(async () => {
  templates = stack.use(await Templates.begin('runtime'));
  receiver = stack.use(await WebhookReceiver.start());
});
afterAll(() => stack.disposeAsync());

async function killRuntime(): Promise<void> {
  const components = await readClusterStatus({ root: checkoutRoot });
  const pids = components.flatMap(({ name, pid }) => (RUNTIME.includes(name) && pid !== undefined ? [pid] : []));
  expect(pids).toHaveLength(RUNTIME.length);
  for (const pid of pids) process.kill(pid, 'SIGKILL');
}

async function registerWebhook(): Promise<string> {
  const events = ['sandbox.lifecycle.created'];
  const wish = { name: 'runtime', url: receiver.url, events, signatureSecret: 'e2e-signature-secret' };
  const response = await templates.call('POST', '/events/webhooks', wish);
  expect(response.status).toBe(201);
  return ((await response.json()) as { id: string }).id;
}

/** Writes a MiB every 250 ms. `isUnderWay` resolves when some were sent. */
function writeSlowly(volume: Volume) {
  const { promise: isUnderWay, resolve } = Promise.withResolvers<undefined>();
  let sent = 0;
  const stream = new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      await new Promise((next) => setTimeout(next, 250));
      if (sent === 4) resolve(undefined);
      if (sent++ < VOLUME_MIB) controller.enqueue(new Uint8Array(MIB).fill(7));
      else controller.close();
    },
  });
  return { isUnderWay, written: volume.writeFile('/big', stream) };
}

describe('kill -9 of containerd and the kubelet', () => {
  it('interrupts no build, upload, command, volume write or delivery that is under way', async () => {
    const name = templates.name('slow');
    process.env['E2B_VOLUME_API_URL'] = templates.access.apiUrl;
    const volume = await Volume.create(`e2e-runtime-${process.pid}`, templates.access);
    await volume.writeFile('/small', 'before');
    const hook = await registerWebhook();
    const holding = receiver.hold();
    await using build = await SlowBuild.begin(name);
    await build.waitForStep(1);
    await using sandbox = await openSandbox();
    await eventually('the delivery is under way', async () => (receiver.got.length > 0 ? true : undefined));
    const work = beginWork(sandbox);
    const slow = writeSlowly(volume);
    await Promise.all([work.isUnderWay, slow.isUnderWay]);

    await killRuntime();
    holding[Symbol.dispose]();
    const [command, upload] = await Promise.all([work.command, work.upload]);
    await slow.written;
    await ensureUp({ demo: false });

    expect(command).toEqual({ value: PRINTED });
    expect(upload).toEqual({ value: WORK.upload });
    const { stdout } = await sandbox.commands.run(`sha256sum < ${WORK.upload}`);
    expect(stdout.split(' ')[0]).toBe(buildDigestCommand(UPLOAD_BYTES));
    expect(await volume.list('/')).toMatchObject([
      { path: '/big', size: VOLUME_MIB * MIB },
      { path: '/small', size: 6 },
    ]);
    expect(await build.waitForEnd()).toBe('ready');
    const built = await templates.open(name);
    expect(await built.files.read('/home/user/steps')).toBe(build.steps);
    await eventually('the delivery has succeeded', async () => {
      const path = `/events/webhooks/${hook}/deliveries?deliveryStatus=succeeded`;
      const { data } = (await (await templates.call('GET', path)).json()) as { data: { sandboxId: string }[] };
      return data.some(({ sandboxId }) => sandboxId === sandbox.sandboxId) ? true : undefined;
    });
    expect((await templates.call('DELETE', `/events/webhooks/${hook}`)).status).toBe(200);
    expect(await Volume.destroy(volume.volumeId, templates.access)).toBe(true);
  });
});
