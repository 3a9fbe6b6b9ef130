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

/** Checks that ask for something else than the chart does, each with the reason and, if it is not meant for all, the object. */
const DIFFERENT: Readonly<Record<string, { readonly why: string; readonly only?: RegExp }>> = {
  'container-image-pull-policy': { why: 'images are named by a version that never changes, or by a digest' },
  'container-resources': {
    why: 'a limit on processors would slow every creation down; requests and limits of memory are set',
  },
  'container-ephemeral-storage-request-and-limit': {
    why: 'the root filesystem is read-only, and a limit would count the logs, which the kubelet rotates',
  },
  'container-security-context-user-group-id': {
    why: 'gVisor and the files of its sandboxes belong to root',
    only: /^DaemonSet\/.*\/sandlot-node$/,
  },
  'deployment-replicas': { why: 'the default is one replica of each process; profile ha has more' },
  'service-targets-pod': {
    why: 'these are for one Pod of a StatefulSet each, by a label that comes when the Pod is created',
    only: /^Service\/.*\/sandlot-nats-\d$/,
  },
  'statefulset-has-servicename': { why: 'clients need one address, and each server of NATS has a Service of its own' },
};

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
  expect(looked).toBeGreaterThan(15);
  for (const { id } of findings) found.add(id);
  const isDecided = ({ id, name }: Finding): boolean => DIFFERENT[id]?.only?.test(name) ?? id in DIFFERENT;
  expect(findings.filter((finding) => !isDecided(finding))).toEqual([]);
});

it('has no exception that nothing needs', () => {
  expect(Object.keys(DIFFERENT).filter((id) => !found.has(id))).toEqual([]);
});
