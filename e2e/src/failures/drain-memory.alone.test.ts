import { Sandbox } from '@e2b/code-interpreter';
import { sandboxSnapshots } from '@sandlot/api-types';
import { events, pods } from '@sandlot/kube';
import type { Pod } from '@sandlot/kube';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { killProcessesOf, replaceRestartedPods, waitUntilRecovered } from '../support/kill9.ts';
import { createBox, readIn, waitForEvent, waitForReadySandbox } from '../support/lifecycle.ts';
import { pause, readStarts, startWriter } from '../support/memory/writer.ts';
import { cordon, drain, uncordon, WITH_MEMORY } from '../support/nodes/drain.ts';
import { readAccess, LIFETIME_MS } from '../support/sdk/client.ts';
import { expectContents, fill } from '../support/sdk/contents.ts';
import type { Contents } from '../support/sdk/contents.ts';
import { offerFullTemplate } from '../support/sdk/full-template.ts';
import { startPython } from '../support/sdk/python-program.ts';
import { createTeam, eventually } from '../support/team.ts';
import type { Team } from '../support/team.ts';

const TENANT = 'tenant-a';
const TEMPLATE = `drained-${process.pid}`;
const SERVES = 'httpd -p 8080 -h /tmp; echo kept > /tmp/kept; exec 3> /data/open; sleep 100000 & echo $! > /tmp/pid; ';

let team: Team;
let client: { readonly sandbox: Sandbox; readonly before: Contents };
const stack = new AsyncDisposableStack();
beforeAll(async () => {
  team = stack.use(await createTeam('drain-memory'));
  stack.use(await offerFullTemplate(team.client, TEMPLATE));
  stack.defer(() => uncordon(team));
  const sandbox = await Sandbox.create(TEMPLATE, { ...(await readAccess()), timeoutMs: LIFETIME_MS });
  stack.defer(async () => {
    await sandbox.kill();
  });
  await startWriter(team, 'written', SERVES);
  client = { sandbox, before: await fill(sandbox) };
});
afterAll(() => stack.disposeAsync());

/** The Pod of a Sandbox without a pool, which has its name. */
const readPod = (namespace: string, name: string): Promise<Pod> => team.client.get(pods, { namespace, name });

/** Whether the Sandbox has moved, and its Pod waits for a node. */
async function isWaiting(namespace: string, name: string): Promise<true | undefined> {
  const { items } = await team.client.listAll(events, { namespace });
  const hasMoved = items.some(({ reason, regarding }) => reason === 'MovedFromNode' && regarding.name === name);
  const { spec, metadata } = await readPod(namespace, name);
  const isRestored = metadata.annotations?.['sandlot.dev/restore-snapshot'] !== undefined;
  return hasMoved && isRestored && spec.nodeName === undefined ? true : undefined;
}

async function expectNoMemoryLeft(namespace: string, sandboxName: string): Promise<void> {
  await eventually(`the memory of ${sandboxName} is used up`, async () => {
    const { items } = await team.client.list(sandboxSnapshots, { namespace });
    return items.some(({ spec }) => spec.sandboxName === sandboxName) ? undefined : true;
  });
}

describe('kubectl drain', () => {
  it('saves what runs on the node: for the owner of a Sandbox and for clients of both languages all of it goes on', async () => {
    await using python = await startPython('moved.py', { SANDLOT_TEMPLATE: TEMPLATE });
    const { id: pythonId } = (await python.nextLine()) as { readonly id: string };
    const starts = await readStarts(team, 'written');
    const pid = await team.sh('written', 'cat /tmp/pid');
    const moved = [
      [team.namespace, 'written'],
      [TENANT, client.sandbox.sandboxId],
      [TENANT, pythonId],
    ] as const;
    await drain(team, WITH_MEMORY);
    for (const [namespace, name] of moved) {
      await eventually(`${name} waits for the node`, () => isWaiting(namespace, name));
    }
    expect((await client.sandbox.getInfo()).state).toBe('running');
    python.send('check');
    expect(await python.nextLine()).toEqual({ state: 'running' });

    // Requests of both clients wait at the gateway meanwhile.
    const all = expectContents(client.sandbox, client.before);
    await uncordon(team);
    await all;
    expect(await python.nextLine()).toEqual({ error: null });
    expect(await readStarts(team, 'written')).toEqual(starts);
    const seen = `kill -0 ${pid} && readlink /proc/1/fd/3 && wget -qO- 127.0.0.1:8080/kept`;
    expect(await readIn(team, 'written', seen)).toBe('/data/open\nkept');
    for (const [namespace, name] of moved) await expectNoMemoryLeft(namespace, name);
  });

  it('ends when the node component is killed during the saves, and nothing starts twice or from an old memory', async () => {
    await replaceRestartedPods(team.client, 'node');
    const starts = await readStarts(team, 'written');
    const drained = drain(team, WITH_MEMORY);
    await pause(300);
    await killProcessesOf(team.client, 'node');
    await drained;
    await uncordon(team);
    expect(await readStarts(team, 'written')).toEqual(starts);
    await expectContents(client.sandbox, client.before);
    await waitUntilRecovered(team.client, 'node');
  });

  it('evicts what cannot be saved, and an Event says why', async () => {
    const pod = { terminationGracePeriodSeconds: 0 };
    await createBox(team, 'unsaved', { disk: 'default', pod, spec: { suspensionStrategy: { type: 'Hibernate' } } });
    await waitForReadySandbox(team, 'unsaved');
    await team.sh('unsaved', 'echo precious > /data/file && echo gone > /tmp/file && sync');
    await drain(team, WITH_MEMORY);
    const { note } = await waitForEvent(team, 'unsaved', 'HibernationFailed');
    expect(note).toMatch(/is being emptied: .*gVisor.* begins anew on the same volumes$/);
    await uncordon(team);
    await waitForReadySandbox(team, 'unsaved');
    expect(await readIn(team, 'unsaved', 'cat /data/file; ls /tmp')).toBe('precious');
  });
});

describe('a sandbox whose node is cordoned', () => {
  it('can be paused before it goes on, and is connected to later, with all of it', async () => {
    const { sandbox, before } = client;
    await cordon(team);
    await eventually('it waits for the node', () => isWaiting(TENANT, sandbox.sandboxId));
    expect(await sandbox.pause()).toBe(true);
    await uncordon(team);
    await sandbox.connect();
    await expectContents(sandbox, before);
  });
});
