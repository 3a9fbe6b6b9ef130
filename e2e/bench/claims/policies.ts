import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { sandboxes } from '@sandlot/api-types';
import { isForbidden } from '@sandlot/kube';
import { ensureBinaries } from '@sandlot/local-cluster';
import { checkoutRoot } from '@sandlot/up';
import { buildTemplateObject } from './objects.ts';
import { pause } from './shapes.ts';
import { NAMESPACE, RELEASE } from './stage.ts';
import type { Stage } from './stage.ts';

const run = promisify(execFile);

/** Applies the admission policies of the chart, and waits until they are in force. */
export async function enforcePolicies(stage: Stage): Promise<void> {
  const { code, stderr } = await stage.plane.kubectl(['apply', '-f', '-'], await renderPolicies());
  if (code !== 0) throw new Error(`the policies cannot be applied: ${stderr}`);
  while (!(await isRefused(stage))) await pause(100);
}

async function renderPolicies(): Promise<string> {
  const helm = (await ensureBinaries(['helm']))('helm');
  const flags = ['--namespace', NAMESPACE, '--kube-version', '1.36.0', '--set', 'crds.enabled=false'];
  const { stdout } = await run(helm, ['template', RELEASE, `${checkoutRoot}/charts/sandlot`, ...flags], {
    maxBuffer: 64 * 2 ** 20,
  });
  const isPolicy = /^kind: ValidatingAdmissionPolicy(Binding)?$/m;
  return stdout
    .split(/^---$/m)
    .filter((text) => isPolicy.test(text))
    .join('\n---\n');
}

/** Tries a Sandbox that a policy refuses. One that comes too early is deleted, and nothing runs it yet. */
async function isRefused({ client }: Stage): Promise<boolean> {
  const { podTemplate } = buildTemplateObject().spec;
  const spec = { podTemplate: { spec: { ...podTemplate.spec, hostNetwork: true } } };
  const key = { namespace: NAMESPACE, name: 'too-early' };
  try {
    await client.create(sandboxes, { metadata: key, spec });
    await client.delete(sandboxes, key);
    return false;
  } catch (error) {
    if (isForbidden(error)) return true;
    throw error;
  }
}
