import { sandboxes, sandboxTemplates } from '@sandlot/api-types';
import { configMaps, networkPolicies, pods } from '@sandlot/kube';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { box } from '../support/boxes.ts';
import { claimManifest, formatTemplateManifest } from '../support/manifests.ts';
import { findReadyCondition, getSandboxName, waitForReadyClaim } from '../support/sandboxes.ts';
import { createTeam, eventually } from '../support/team.ts';
import type { Team } from '../support/team.ts';

const POLICY = 'gone-network-policy';

let team: Team;
let name: string;
beforeAll(async () => {
  team = await createTeam('deleted-template');
  await team.client.create(sandboxes, box(team.namespace, 'neighbour'));
  await team.apply(`${formatTemplateManifest('gone')}---${claimManifest('job', '{sandboxTemplateRef: {name: gone}}')}`);
  name = getSandboxName(await waitForReadyClaim(team, 'job'));
  await waitForReady('neighbour');
});
afterAll(() => team[Symbol.asyncDispose]());

const at = (object: string) => ({ namespace: team.namespace, name: object });

function waitForReady(sandbox: string): Promise<true> {
  return eventually(`Sandbox ${sandbox} is Ready`, async () => {
    const found = await team.client.get(sandboxes, at(sandbox));
    return findReadyCondition(found)?.status === 'True' ? true : undefined;
  });
}

/** Whether the API server of the cluster answers a Pod; it does so in plain text, because the request is no TLS. */
async function reachesCluster(pod: string): Promise<boolean> {
  const request = "{ printf 'GET / HTTP/1.0\\r\\n\\r\\n'; sleep 1; }";
  return (await team.sh(pod, `${request} | nc -w 3 10.96.0.1 443 || true`)).includes('HTTP/');
}

/** Garbage collection has deleted what the template owns. */
async function deleteTemplate(): Promise<void> {
  const { metadata } = await team.client.get(sandboxTemplates, at('gone'));
  const owner = { apiVersion: 'extensions.agents.x-k8s.io/v1beta1', kind: 'SandboxTemplate', name: 'gone' };
  const ownerReferences = [{ ...owner, uid: metadata.uid ?? '' }];
  await team.client.create(configMaps, { metadata: { ...at('dependent'), ownerReferences } });
  await team.kubectl('delete', 'sandboxtemplate', 'gone');
  await eventually('the dependent of the template is gone', async () =>
    (await team.client.find(configMaps, at('dependent'))) === undefined ? true : undefined,
  );
}

const setMode = (operatingMode: string) =>
  team.kubectl('patch', 'sandbox', name, '--type=merge', '-p', JSON.stringify({ spec: { operatingMode } }));

it('a sandbox keeps its rules after its template is deleted, also when it is resumed, and they go with it', async () => {
  expect([await reachesCluster('neighbour'), await reachesCluster(name)]).toEqual([true, false]);
  await deleteTemplate();
  expect(await reachesCluster(name)).toBe(false);

  await setMode('Suspended');
  await eventually('its Pod is gone', async () =>
    (await team.client.find(pods, at(name))) === undefined ? true : undefined,
  );
  await setMode('Running');
  await waitForReady(name);
  expect(await reachesCluster(name)).toBe(false);

  await team.kubectl('delete', 'networkpolicy', POLICY);
  await eventually('the policy is restored', () => team.client.find(networkPolicies, at(POLICY)));
  await team.kubectl('delete', 'sandboxclaim', 'job');
  await eventually('the policy is gone', async () =>
    (await team.client.find(networkPolicies, at(POLICY))) === undefined ? true : undefined,
  );
});
