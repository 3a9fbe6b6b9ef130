import { bundleServices } from '@sandlot/up';
import type { Stage } from '../claims/stage.ts';

/** Services that keep no Sandboxes. */
export const OTHERS = ['snapshot-controller', 'key-keeper'] as const;
type OtherName = (typeof OTHERS)[number];

const CERTIFICATE = { name: 'bench-certificate', subject: 'bench', hosts: ['bench.example.com'] };
const WANTED = {
  secrets: [{ name: 'bench-keys', entries: { signing: 'signing', tokens: 'tokens' } }],
  authorities: [{ name: 'bench', certificates: [CERTIFICATE] }],
};

const SETTINGS: Readonly<Record<OtherName, Readonly<Record<string, string>>>> = {
  'snapshot-controller': {},
  'key-keeper': { WANTED: JSON.stringify(WANTED) },
};

/** Makes them ready to start. */
export async function admitOthers(stage: Stage): Promise<void> {
  await bundleServices();
  for (const name of OTHERS) await stage.admit(name);
}

/** Starts new processes in place of those that run. */
export async function restartOthers(stage: Stage): Promise<void> {
  for (const name of OTHERS) {
    await stage.kill(`${name}-0`);
    await stage.startReplica(name, 0, SETTINGS[name]);
  }
}
