import { readFile } from 'node:fs/promises';
import { exec } from '../process/exec.ts';

/** Lists the mount points at or under any of the folders, innermost first. */
export async function listMountsUnder(folders: readonly string[]): Promise<string[]> {
  return parseMounts(await readFile('/proc/self/mountinfo', 'utf8'), folders);
}

/** Lists the mount points in a mountinfo file at or under any of the folders, latest first. */
export function parseMounts(mountinfo: string, folders: readonly string[]): string[] {
  const points = mountinfo
    .split('\n')
    .map((line) => unescapeOctal(line.split(' ')[4] ?? ''))
    .filter((point) => folders.some((folder) => point === folder || point.startsWith(`${folder}/`)));
  return points.reverse();
}

/** Unmounts everything at or under the folders. Busy mounts are detached. */
export async function unmountAll(folders: readonly string[]): Promise<void> {
  for (let round = 0; round < 5; round += 1) {
    const points = await listMountsUnder(folders);
    if (points.length === 0) return;
    for (const point of points) await exec(['umount', '--lazy', point]);
  }
}

function unescapeOctal(text: string): string {
  return text.replace(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)));
}
