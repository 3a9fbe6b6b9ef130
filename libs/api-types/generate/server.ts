import { startControlPlane } from '@sandlot/local-cluster';
import type { ControlPlane } from '@sandlot/local-cluster';
import { z } from 'zod';
import type { Snapshot } from './definitions.ts';
import { documentPaths, takeSnapshot } from './snapshot.ts';

const serverVersion = z.object({ gitVersion: z.string() });

/** The snapshot as a running API server serves it. */
export async function readSnapshot(server: Pick<ControlPlane, 'kubectl'>): Promise<Snapshot> {
  const { gitVersion } = serverVersion.parse(await read(server, '/version'));
  const documents: unknown[] = [];
  for (const path of documentPaths) documents.push(await read(server, path));
  return takeSnapshot({ version: gitVersion, documents });
}

async function read(server: Pick<ControlPlane, 'kubectl'>, path: string): Promise<unknown> {
  const { code, stdout, stderr } = await server.kubectl(['get', '--raw', path]);
  if (code !== 0) throw new Error(`cannot read ${path}: ${stderr}`);
  return JSON.parse(stdout);
}

/** Starts the API server Sandlot is built against, reads its OpenAPI, and stops it. */
export async function readSnapshotOfPinnedServer(): Promise<Snapshot> {
  await using controlPlane = await startControlPlane();
  return await readSnapshot(controlPlane);
}
