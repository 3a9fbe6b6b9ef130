import { rmSync } from 'node:fs';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { identify } from './identity.ts';

const prefix = 'sandlot-test-';
const mine = new Set<string>();
let watching = false;

/** Creates a folder that is removed when this process exits. Also removes the folders of killed test processes. */
export async function createTempFolder(): Promise<string> {
  await removeAbandonedFolders();
  const folder = await mkdtemp(join(tmpdir(), `${prefix}${process.pid}-`));
  mine.add(folder);
  if (!watching) {
    watching = true;
    process.once('exit', () => mine.forEach((path) => rmSync(path, { recursive: true, force: true })));
  }
  return folder;
}

/** Removes a folder that `createTempFolder` made. */
export async function removeTempFolder(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  mine.delete(folder);
}

async function removeAbandonedFolders(): Promise<void> {
  for (const name of await readdir(tmpdir())) {
    const pid = new RegExp(`^${prefix}(\\d+)-`).exec(name)?.[1];
    if (pid === undefined || (await identify(Number(pid))) !== undefined) continue;
    await rm(join(tmpdir(), name), { recursive: true, force: true }).catch(() => undefined);
  }
}
