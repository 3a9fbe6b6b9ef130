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
  await apply(stage, await renderKinds('ValidatingAdmissionPolicy(Binding)?'));
  while (!(await isRefused(stage))) await pause(100);
}

/** Applies the chart's priorities of requests, for accounts of this release. */
export async function applyFlowControl(stage: Stage): Promise<void> {
  await apply(stage, await renderKinds('(FlowSchema|PriorityLevelConfiguration)'));
}

async function apply({ plane }: Stage, objects: string): Promise<void> {
  const { code, stderr } = await plane.kubectl(['apply', '-f', '-'], objects);
  if (code !== 0) throw new Error(`objects of the chart cannot be applied: ${stderr}`);
}

async function renderKinds(pattern: string): Promise<string> {
  const helm = (await ensureBinaries(['helm']))('helm');
  const sets = ['--set', 'crds.enabled=false', '--set', 'flowControl.enabled=true'];
  const flags = ['--namespace', NAMESPACE, '--kube-version', '1.36.0', ...sets];
  const { stdout } = await run(helm, ['template', RELEASE, `${checkoutRoot}/charts/sandlot`, ...flags], {
    maxBuffer: 64 * 2 ** 20,
  });
  const isWanted = new RegExp(`^kind: ${pattern}$`, 'm');
  return stdout
    .split(/^---$/m)
    .filter((text) => isWanted.test(text))
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
