import { findController, persistentVolumeClaims, services } from '@sandlot/kube';
import { expect, it } from 'vitest';
import { formatDisk } from '../support/boxes.ts';
import { createBox, listNames, patchSpec, waitForReadySandbox } from '../support/lifecycle.ts';
import { eventually, runInTeam } from '../support/team.ts';

const NAME = 'box';

/** A disk and a Service that a user offers to the Sandbox of that name. */
const offered = `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: ${formatDisk(NAME)}, labels: {agents.x-k8s.io/adoptable: "true"}}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 10Mi}}}
---
apiVersion: v1
kind: Service
metadata: {name: ${NAME}, labels: {agents.x-k8s.io/adoptable: "true"}}
spec: {clusterIP: None, selector: {app: own}}
`;

it('a Sandbox takes over a disk and a Service that a user offers, and deletes the Service when it wants none', () =>
  runInTeam('takeover', async (team) => {
    await team.apply(offered);
    await createBox(team, NAME, { disk: 'default' });
    const { metadata } = await waitForReadySandbox(team, NAME);
    const key = { namespace: team.namespace, name: NAME };
    const disk = await team.client.get(persistentVolumeClaims, { ...key, name: formatDisk(NAME) });
    const service = await team.client.get(services, key);
    expect([findController(disk)?.uid, findController(service)?.uid]).toEqual([metadata.uid, metadata.uid]);
    await patchSpec(team, NAME, { service: false });
    await eventually('the Service is gone', async () =>
      (await listNames(team, services)).includes(NAME) ? undefined : true,
    );
    await waitForReadySandbox(team, NAME);
  }));
