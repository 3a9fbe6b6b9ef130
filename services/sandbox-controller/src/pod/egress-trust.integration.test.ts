import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FIRST, SECOND } from '../../test/certificates.ts';
import { container, RealCluster } from '../../test/real-cluster.ts';

const NAME = 'SANDLOT_EGRESS_CA';
const folder = mkdtempSync(join(tmpdir(), 'authority-'));
const file = join(folder, 'ca.crt');

let cluster: RealCluster;
beforeAll(async () => {
  const RUNTIME_PUBLIC_KEY = generateKeyPairSync('ed25519')
    .publicKey.export({ format: 'pem', type: 'spki' })
    .toString();
  const settings = { RUNTIME_IMAGE: 'registry.test/runtime:1', RUNTIME_PUBLIC_KEY, EGRESS_CA_FILE: file };
  cluster = await RealCluster.start({}, settings);
});
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await cluster[Symbol.asyncDispose]();
});

/** The variable in a new Pod of a claim's Sandbox. The API server drops an empty value. */
async function readVariable(name: string): Promise<unknown> {
  await cluster.apply({
    apiVersion: 'agents.x-k8s.io/v1beta1',
    kind: 'Sandbox',
    metadata: { name, labels: { 'sandlot.dev/egress': 'steered', 'sandlot.dev/claim-name': 'job' } },
    spec: { podTemplate: { spec: { containers: [container] } }, runtime: { inject: true } },
  });
  const { spec } = await cluster.untilPod(name);
  return spec.containers[0]?.env?.find((variable) => variable.name === NAME);
}

describe('Pods trust the authority of the egress proxy', () => {
  it('as it is when they are made, while the controller runs on, and start without it while there is none', async () => {
    expect(await readVariable('early')).toEqual({ name: NAME });
    writeFileSync(file, FIRST);
    expect(await readVariable('first')).toEqual({ name: NAME, value: FIRST });
    writeFileSync(file, FIRST + SECOND);
    expect(await readVariable('rotated')).toEqual({ name: NAME, value: FIRST + SECOND });
    expect((await cluster.pod('early')).spec.containers[0]?.env).toContainEqual({ name: NAME });
  });
});
