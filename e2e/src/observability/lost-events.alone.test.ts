import { sandboxClaims } from '@sandlot/api-types';
import type { CloudEvent } from '@sandlot/bus';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { startComponent, stopComponent } from '../support/components.ts';
import { EventRecorder, listSandlotEvents } from '../support/events.ts';
import { runKubectlOrFail } from '../support/kubectl.ts';
import { claimManifest, formatPoolManifest, formatTemplateManifest } from '../support/manifests.ts';
import { waitForFullPool, waitForReadyClaim, getSandboxName } from '../support/sandboxes.ts';
import { createTeam } from '../support/team.ts';
import type { Team } from '../support/team.ts';

const PATIENCE = { timeout: 60_000, interval: 200 };

const COLD = 'sandboxTemplateRef: {name: box}, warmpool: none';

let team: Team;
let recorder: EventRecorder;
beforeAll(async () => {
  team = await createTeam('lost');
  recorder = await EventRecorder.open(team);
  await team.apply(`${formatTemplateManifest('box')}---${formatPoolManifest('boxes', 'box', 1)}`);
  await waitForFullPool(team, 'boxes');
  await claim('warm', 'warmPoolRef: {name: boxes}');
  await waitForReadyClaim(team, 'warm');
});
afterAll(async () => {
  await startComponent('nats');
  await recorder[Symbol.asyncDispose]();
  await team[Symbol.asyncDispose]();
});

const claim = (name: string, spec: string): Promise<void> => team.apply(claimManifest(name, `{${spec}}`));

/** Waits until exactly these events of the object have arrived. */
const expectEvents = (kind: string, name: string, ...types: readonly string[]): Promise<void> =>
  expect.poll(() => recorder.listTypes(kind, name), PATIENCE).toEqual(types.toSorted());

describe('when NATS loses everything', () => {
  it('claims are served, and their events arrive afterwards: pod killed and disk wiped', async () => {
    await expectEvents('claim', 'warm', 'submitted', 'bound');
    await stopComponent(team, 'nats');
    await runKubectlOrFail(['--namespace', inject('releaseNamespace'), 'delete', 'pvc', 'data-sandlot-nats-0']);
    await claim('unheard', COLD);
    const sandbox = getSandboxName(await waitForReadyClaim(team, 'unheard'));
    await startComponent('nats');
    await expectEvents('claim', 'unheard', 'submitted', 'bound');
    await expect.poll(() => recorder.listTypes('sandbox', sandbox), PATIENCE).toEqual(['created', 'ready']);
  });

  it('claims are served, and events of all objects arrive again: stream deleted', async () => {
    await claim('before', COLD);
    await recorder.deleteStream();
    await claim('after', COLD);
    await Promise.all(['before', 'after'].map((name) => waitForReadyClaim(team, name)));
    await expectEvents('claim', 'before', 'submitted', 'bound');
    await expectEvents('claim', 'after', 'submitted', 'bound');
    const { items } = await team.client.listAll(sandboxClaims, { namespace: team.namespace });
    const inStream = async (): Promise<string[]> => {
      const lines = await listSandlotEvents('--subject', 'claim.submitted', '-n', team.namespace, '-o', 'json');
      return lines.map((line) => (JSON.parse(line) as CloudEvent).data.name).toSorted();
    };
    await expect.poll(inStream, PATIENCE).toEqual(items.map(({ metadata }) => metadata.name).toSorted());
  });
});
