import { startControlPlane } from '@sandlot/local-cluster';
import type { ControlPlane } from '@sandlot/local-cluster';
import type { Snapshot } from './definitions.ts';
import { documentPaths, takeSnapshot } from './snapshot.ts';

/** The snapshot as a running API server serves it. */
export async function snapshotFrom(controlPlane: Pick<ControlPlane, 'kubectl'>): Promise<Snapshot> {
  const documents: unknown[] = [];
  for (const path of documentPaths) {
    const { code, stdout, stderr } = await controlPlane.kubectl(['get', '--raw', path]);
    if (code !== 0) throw new Error(`cannot read ${path}: ${stderr}`);
    documents.push(JSON.parse(stdout));
  }
  return takeSnapshot(documents);
}

/** Starts the API server Sandlot is built against, reads its OpenAPI, and stops it. */
export async function snapshotOfPinnedServer(): Promise<Snapshot> {
  await using controlPlane = await startControlPlane();
  return await snapshotFrom(controlPlane);
}
