import { mkdir, readFile, readdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ClusterPaths } from '../cluster/paths.ts';
import { LocalClusterError } from '../errors.ts';
import { mostAddedNodes } from '../node/network.ts';
import { nodeName } from '../node/place.ts';
import { findFreePort } from '../process/ports.ts';

/** What is chosen once for an added node. It stays the same until the node is removed. */
export interface AddedRecord {
  name: string;
  /** Chooses its addresses: from 1 on. */
  index: number;
  ports: { kubelet: number; kubeletHealth: number };
}

/** Reads the records of all added nodes. */
export async function readAddedNodes(paths: ClusterPaths): Promise<AddedRecord[]> {
  const names = await readdir(paths.addedNodes).catch(() => []);
  const records = await Promise.all(names.map((name) => readRecord(join(paths.addedNodes, name, 'node.json'))));
  return records.filter((record) => record !== undefined);
}

/** Returns the record of the node with this name, which it makes if there is none. Throws LocalClusterError. */
export async function ensureAddedRecord(paths: ClusterPaths, name: string): Promise<AddedRecord> {
  const present = await readAddedNodes(paths);
  const known = present.find((record) => record.name === name);
  if (known !== undefined) return known;
  const ports = { kubelet: await findFreePort(), kubeletHealth: await findFreePort() };
  const record = { name, index: chooseIndex(name, present), ports };
  const file = join(paths.addedNodes, name, 'node.json');
  await mkdir(join(paths.addedNodes, name), { recursive: true });
  await writeFile(`${file}.tmp`, JSON.stringify(record));
  await rename(`${file}.tmp`, file);
  return record;
}

/** Returns the lowest index that no other node has. Throws LocalClusterError if the name cannot be used, or none is left. */
export function chooseIndex(name: string, present: readonly Pick<AddedRecord, 'name' | 'index'>[]): number {
  // It is part of the paths of sockets, which the kernel limits to 107 bytes.
  if (!/^[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?$/.test(name) || name === nodeName) {
    const rule = `use 1 to 32 lower-case letters, digits and dashes, and not "${nodeName}", which is the first node`;
    throw new LocalClusterError('COMPONENT_FAILED', `no node can be named ${JSON.stringify(name)}: ${rule}`);
  }
  for (let index = 1; index <= mostAddedNodes; index += 1) {
    if (!present.some((record) => record.index === index)) return index;
  }
  const names = present.map((record) => record.name).join(' and ');
  const problem = `the pod network has no room for the node ${name} beside ${nodeName}, ${names}`;
  throw new LocalClusterError('COMPONENT_FAILED', `${problem}\nRemove one of them first`);
}

/** Returns undefined for a file that is absent or not ours: its folder is removed with the cluster. */
async function readRecord(file: string): Promise<AddedRecord | undefined> {
  const text = await readFile(file, 'utf8').catch(() => undefined);
  if (text === undefined) return undefined;
  const value: unknown = JSON.parse(text);
  return isRecord(value) ? value : undefined;
}

function isRecord(value: unknown): value is AddedRecord {
  return typeof value === 'object' && value !== null && 'name' in value && 'index' in value && 'ports' in value;
}
