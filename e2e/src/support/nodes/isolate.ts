import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { machinePaths } from '@sandlot/local-cluster';
import { findInRun } from './containerd.ts';

/** Where nothing listens. */
const CLOSED = 'server = "http://127.0.0.1:9"\n';

/** A registry that an isolated node reaches. */
export interface Reached {
  /** The host in names of images. */
  readonly host: string;
  /** The registry that has them, and the path below which it does. */
  readonly address: string;
  readonly path: string;
}

/** Lets containerd of an added node pull from one registry alone. It reads the files at each pull. */
export async function isolateNode(nodeName: string, { host, address, path }: Reached): Promise<void> {
  const mirror = `[host."http://${address}/v2/${path}"]\n  capabilities = ["pull", "resolve"]\n  override_path = true\n`;
  const files = { _default: CLOSED, 'docker.io': CLOSED, [host]: `${CLOSED}\n${mirror}` };
  for (const [registry, text] of Object.entries(files)) {
    const folder = findInRun(nodeName, join(machinePaths.registryHosts, registry));
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, 'hosts.toml'), text);
  }
}
