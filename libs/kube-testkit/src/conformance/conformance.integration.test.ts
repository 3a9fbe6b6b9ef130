import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startControlPlane } from '@sandlot/local-cluster';
import type { ControlPlane } from '@sandlot/local-cluster';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { createKubeClient, loadCredentials, namespaces } from '@sandlot/kube';
import type { KubeClient } from '@sandlot/kube';
import { conformanceCases } from './conformance.ts';
import { widgetCrd } from './context.ts';
import { createRawRequester } from './raw.ts';
import type { RawRequester } from './raw.ts';

describe('a real API server', () => {
  let folder: string;
  let plane: ControlPlane;
  let client: KubeClient;
  let raw: RawRequester;
  let count = 0;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'conformance-'));
    const crd = join(folder, 'widgets.yaml');
    await writeFile(crd, JSON.stringify(widgetCrd));
    plane = await startControlPlane({ controllerManager: true, crds: [crd] });
    const credentials = await loadCredentials({ kubeconfig: plane.kubeconfigPath });
    client = createKubeClient({ credentials });
    raw = createRawRequester(credentials);
  });

  afterAll(async () => {
    await client.close();
    await plane.stop();
    await rm(folder, { recursive: true });
  });

  describe.each(Object.entries(conformanceCases))('%s', (_subject, cases) => {
    it.concurrent.each(cases)('$name', async ({ run }) => {
      count += 1;
      const namespace = `case-${count}`;
      await client.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
      await run({ client, raw, namespace });
    });
  });
});
