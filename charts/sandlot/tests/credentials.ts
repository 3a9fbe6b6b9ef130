import { createKubeClient, loadCredentials, secrets } from '@sandlot/kube';
import type { KubeClient } from '@sandlot/kube';
import { startFakeApiServer } from '@sandlot/kube-testkit';
import { silentLogger, systemClock } from '@sandlot/std';
import type { ControlPlane } from '@sandlot/local-cluster';
import { wantedCredentials } from '../../../services/key-keeper/src/plan/wanted.ts';
import type { WantedCredentials } from '../../../services/key-keeper/src/plan/wanted.ts';
import { reconcile } from '../../../services/key-keeper/src/reconcile.ts';
import { find, release } from './chart.ts';
import type { Rendered } from './chart.ts';

/** Entries by Secret, decoded. */
export type Credentials = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** What the rendering tells the key-keeper to make. */
export function readWanted(objects: readonly Rendered[]): WantedCredentials {
  const [container] = find(objects, 'Deployment', 'sandlot-key-keeper').spec?.template?.spec.containers ?? [];
  const text = container?.env?.find(({ name }) => name === 'WANTED')?.value ?? '';
  return wantedCredentials.parse(JSON.parse(text));
}

/** Lets the key-keeper make the credentials of a rendering, and returns them. */
export async function makeCredentials(objects: readonly Rendered[]): Promise<Credentials> {
  const server = await startFakeApiServer({ resources: [secrets] });
  try {
    await keep(server.client({ user: 'key-keeper' }), readWanted(objects));
    const made = server.objects(secrets).map(({ metadata: { name = '' }, data = {} }) => {
      const entries = Object.entries(data).map(([key, text]) => [key, Buffer.from(text, 'base64').toString()] as const);
      return [name, Object.fromEntries(entries)] as const;
    });
    return Object.fromEntries(made);
  } finally {
    await server.stop();
  }
}

/** One pass of the key-keeper of the installed release, with the rights that its account has there; returns what it refuses. */
export async function runKeyKeeper(plane: ControlPlane): Promise<string | undefined> {
  const keeper = ['-n', release.namespace, 'get', 'deployment', 'sandlot-key-keeper', '-o', 'json'];
  const installed = JSON.parse((await plane.kubectl(keeper)).stdout) as Rendered;
  const credentials = await loadCredentials({ kubeconfig: plane.kubeconfigPath });
  const impersonate = `system:serviceaccount:${release.namespace}:sandlot-key-keeper`;
  const client = createKubeClient({ credentials: { ...credentials, getAuthorization: () => credentials.getAuthorization(), impersonate } });
  try {
    return await keep(client, readWanted([installed]));
  } finally {
    await client.close();
  }
}

function keep(client: KubeClient, wanted: WantedCredentials): Promise<string | undefined> {
  return reconcile({ client, namespace: release.namespace, wanted, clock: systemClock, log: silentLogger });
}
