import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ensureBinaries } from '@sandlot/local-cluster';

/** A PATH with the cluster's own `kubectl`, with which clients open their tunnels. Disposing removes it. */
export interface KubectlPath extends AsyncDisposable {
  readonly path: string;
}

export async function prepareKubectlPath(): Promise<KubectlPath> {
  const folder = await mkdtemp(join(tmpdir(), 'sandlot-kubectl-'));
  const kube = (await ensureBinaries(['kube']))('kube');
  await writeFile(join(folder, 'kubectl'), `#!/bin/sh\nexec '${kube}' kubectl "$@"\n`, { mode: 0o755 });
  return {
    path: `${folder}:${process.env['PATH'] ?? ''}`,
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}
