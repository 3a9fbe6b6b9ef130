import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import type { DemoResult } from './demo/demo.ts';
import { formatMegabytes } from './images/build.ts';
import type { BuiltImage } from './images/build.ts';
import type { ControllerName } from './images/recipes.ts';
import { controllerNames } from './images/recipes.ts';
import { checkoutRoot } from './paths.ts';
import type { Target } from './target.ts';
import { findProgram } from './target.ts';

/** Formats one line per image: its size, and for controllers the time from process start to readiness. */
export function listImageLines(
  images: readonly BuiltImage[],
  startTimes: ReadonlyMap<ControllerName, number>,
): readonly string[] {
  const width = Math.max(...images.map(({ name }) => name.length));
  return images.map(({ name, sizeBytes }) => {
    const start = controllerNames.find((controller) => controller === name);
    const ms = start === undefined ? undefined : startTimes.get(start);
    const started = ms === undefined ? '' : `  starts in ${Math.round(ms)} ms`;
    return `  ${name.padEnd(width)}  ${formatMegabytes(sizeBytes).padStart(7)}${started}`;
  });
}

/**
 * Returns shell lines to paste in the checkout's folder. On a machine without kubectl, writes ours to .sandlot/bin.
 */
export async function listNextSteps(
  target: Target,
  demo: DemoResult | undefined,
  kube: string | undefined,
): Promise<readonly string[]> {
  const path = relative(checkoutRoot, target.kubeconfigPath);
  const kubeconfig = path.startsWith('..') ? target.kubeconfigPath : path;
  const missing = kube !== undefined && (await findProgram('kubectl')) === undefined;
  if (missing) await writeKubectl(kube);
  const namespace = demo === undefined || demo.namespace === 'default' ? '' : ` -n ${demo.namespace}`;
  return [
    `  export KUBECONFIG=${kubeconfig}`,
    ...(target.kind === 'node'
      ? ['  . .sandlot/env   # E2B_API_URL, E2B_API_KEY and other variables for clients']
      : []),
    ...(missing ? ['  export PATH="$PWD/.sandlot/bin:$PATH"'] : []),
    `  kubectl get sandboxwarmpools,sandboxclaims,sandboxes,pods,pvc${namespace}`,
    ...(demo === undefined ? [] : listDemoSteps(target, demo, namespace)),
    '  kubectl -n sandlot-system get pods',
    '  kubectl explain sandboxclaim.spec',
  ].filter((line) => target.kind !== 'simulated' || !line.includes('-n sandlot-system'));
}

function listDemoSteps(target: Target, { sandbox }: DemoResult, namespace: string): readonly string[] {
  const claim = `kubectl delete${namespace} sandboxclaim demo-1 && kubectl create${namespace} -f tools/up/demo/claim.yaml`;
  if (target.kind === 'simulated') return [`  ${claim}`];
  return [
    `  kubectl exec${namespace} -it ${sandbox} -- sh`,
    `  ${claim}`,
    `  kubectl wait${namespace} --for=condition=Ready sandboxclaim/demo-1`,
  ];
}

async function writeKubectl(kube: string): Promise<void> {
  const folder = join(checkoutRoot, '.sandlot/bin');
  await mkdir(folder, { recursive: true });
  const file = join(folder, 'kubectl');
  await writeFile(file, `#!/bin/sh\nexec '${kube}' kubectl "$@"\n`);
  await chmod(file, 0o755);
}
