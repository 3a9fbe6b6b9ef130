// kube-score looks for what operators regret: containers without probes, budgets without Pods, workloads without policies.
import { execFile } from 'node:child_process';
import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ensureBinaries } from '@sandlot/local-cluster';
import { expect, it } from 'vitest';
import type { Rendered } from '../chart.ts';
import { profiles, render, valueSets } from '../chart.ts';

/** The newest of which kube-score knows the versions of objects. */
const KUBE_VERSION = 'v1.32';
/** The lowest grade of a check without a finding. */
const GOOD = 10;

/** Checks that ask for something else than the chart does, each with the reason. */
const DIFFERENT: Readonly<Record<string, string>> = {
  'container-image-pull-policy': 'images are named by a version that never changes, or by a digest',
  'container-resources': 'a limit on processors would slow every creation down; requests and limits of memory are set',
  'container-ephemeral-storage-request-and-limit':
    'the root filesystem is read-only, and a limit would count the logs, which the kubelet rotates',
  'deployment-replicas': 'the default is one replica of each process; profile ha has more',
  'deployment-has-host-podantiaffinity': 'topology spread constraints do this',
  'statefulset-has-host-podantiaffinity': 'topology spread constraints do this',
  'statefulset-has-servicename': 'clients need one address, and each server of NATS has a Service of its own',
};
/** Services for one Pod of a StatefulSet: the label that they select by is put there when the Pod is created. */
const OF_ONE_POD = /^sandlot-nats-\d$/;

interface Scored {
  readonly object_name: string;
  readonly checks:
    | readonly {
        readonly check: { readonly id: string };
        readonly grade: number;
        readonly skipped: boolean;
        readonly comments: readonly { readonly summary: string }[] | null;
      }[]
    | null;
}

/** What kube-score has against the objects, by the id of its check: `CHECK of OBJECT: SUMMARY`. */
async function score(objects: readonly Rendered[]): Promise<{ readonly looked: number; readonly findings: readonly Finding[] }> {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'sandlot-score-'));
  const file = join(folder.path, 'objects.json');
  await writeFile(file, objects.map((object) => JSON.stringify(object)).join('\n---\n'));
  const bin = await ensureBinaries(['kube-score']);
  const args = ['score', '--kubernetes-version', KUBE_VERSION, '--output-format', 'json', file];
  const stdout = await new Promise<string>((resolve) => {
    // It exits with 1 when it finds anything.
    execFile(bin('kube-score'), args, { maxBuffer: 16 * 2 ** 20 }, (_, text) => resolve(text));
  });
  const scored = JSON.parse(stdout) as readonly Scored[];
  const findings = scored.flatMap(({ object_name: name, checks }) =>
    (checks ?? [])
      .filter(({ skipped, grade }) => !skipped && grade < GOOD)
      .map(({ check: { id }, comments }) => ({ id, name, text: (comments ?? []).map(({ summary }) => summary).join(', ') })),
  );
  return { looked: scored.length, findings };
}

interface Finding {
  readonly id: string;
  readonly name: string;
  readonly text: string;
}

const found = new Set<string>();

it.each(Object.entries({ ...valueSets, ...profiles }))('finds nothing that was not decided, with the %s values', async (_, values) => {
  const objects = await render({ ...values, crds: { enabled: false } });
  const { looked, findings } = await score(objects);
  expect(looked).toBeGreaterThan(20);
  for (const { id } of findings) found.add(id);
  const unknown = findings.filter(({ id, name }) => !(id in DIFFERENT) && !(id === 'service-targets-pod' && OF_ONE_POD.test(name)));
  expect(unknown).toEqual([]);
});

it('has no exception that nothing needs', () => {
  expect(Object.keys(DIFFERENT).filter((id) => !found.has(id))).toEqual([]);
});
