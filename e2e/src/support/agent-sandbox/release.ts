import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkoutRoot } from '@sandlot/up';
import { inject } from 'vitest';
import { findCluster } from '../nodes/second-node.ts';

const RELEASE = 'sandlot';

/** Removes the release, and leaves its CRDs with their objects. Resolves with its values. */
export async function uninstallRelease(): Promise<string> {
  const values = await helm(['get', 'values', RELEASE, '--output', 'json']);
  await helm(['uninstall', RELEASE, '--wait']);
  return values;
}

/** Installs the release with these values over CRDs that another project owns, and waits until it runs. */
export async function takeOver(values: string): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'sandlot-e2e-take-over-'));
  try {
    const file = join(folder, 'values.json');
    await writeFile(file, values);
    const chart = join(checkoutRoot, 'charts/sandlot');
    await helm(['install', RELEASE, chart, '--take-ownership', '--wait', '--timeout', '4m', '--values', file]);
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function helm(args: readonly string[]): Promise<string> {
  const cluster = await findCluster();
  const { code, stdout, stderr } = await cluster.helm([...args, '--namespace', inject('releaseNamespace')]);
  if (code !== 0) throw new Error(`helm ${args.join(' ')} failed with ${code}:\n${stderr}`);
  return stdout;
}
