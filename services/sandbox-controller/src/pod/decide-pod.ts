import { effectiveMode } from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';
import type { Pod } from '@sandlot/kube';
import { buildPod } from './build-pod.ts';
import { podMetadataPatch, wantedPodMetadata } from './pod-metadata.ts';
import { claimNames } from '../disks/decide-disks.ts';
import { decideImage } from './inplace-image.ts';
import { refusalOf, takeOver } from '../ownership/ownership.ts';
import { isRestartDue } from './restart.ts';
import { injectionRefusal } from './runtime-injection.ts';
import type { RuntimeSettings } from './runtime-injection.ts';
import { failed, isTerminating, onlyPod } from '../plan/snapshot.ts';
import type { Snapshot } from '../plan/snapshot.ts';
import type { Plan } from '../plan/steps.ts';

/**
 * Keeps exactly one Pod while the Sandbox runs, and none while it is suspended. With several Pods under our UID nothing
 * is decided: choosing would be guessing which one holds the user's work.
 */
export function decidePod(snapshot: Snapshot): Plan {
  if (failed(snapshot, 'pod') || snapshot.ownedPods.length > 1) return [];
  if (effectiveMode(snapshot.sandbox.spec) === 'Suspended') return decideSuspension(snapshot);
  const pod = onlyPod(snapshot);
  if (pod !== undefined) return decidePresent(snapshot, pod);
  if (snapshot.foreignPod !== undefined) return decideTakeOver(snapshot, snapshot.foreignPod);
  return decideCreation(snapshot);
}

function decideSuspension(snapshot: Snapshot): Plan {
  const pod = onlyPod(snapshot);
  return pod === undefined || isTerminating(pod) ? [] : [{ kind: 'deletePod', pod, phase: 'pod' }];
}

/**
 * A terminating Pod is waited for, on a dead node too: its name and its disks are taken until it is gone. One that ended
 * and is to be replaced goes when its time has come.
 */
function decidePresent(snapshot: Snapshot, pod: Pod): Plan {
  if (isTerminating(pod)) return [];
  if (isRestartDue(snapshot)) return [{ kind: 'deletePod', pod, phase: 'pod' }];
  const patch = podMetadataPatch(snapshot.sandbox, pod);
  if (patch !== undefined) return [{ kind: 'patchPod', phase: 'pod', pod, patch }];
  return decideImage(snapshot.sandbox, pod);
}

function decideTakeOver({ sandbox }: Snapshot, pod: Pod): Plan {
  const refusal = refusalOf('pod', pod, sandbox);
  if (refusal !== undefined) return [{ kind: 'refuse', phase: 'pod', message: refusal }];
  if (isTerminating(pod)) return [];
  const metadata = { ...takeOver(pod, sandbox), ...wantedPodMetadata(sandbox) };
  return [{ kind: 'patchPod', phase: 'pod', pod, patch: { metadata } }];
}

/** Only on disks that are ours: a Pod must never mount what a refused or terminating claim of the name holds. */
function decideCreation(snapshot: Snapshot): Plan {
  const { sandbox, claims } = snapshot;
  const isComplete = claimNames(sandbox).every((name) => {
    const claim = claims.get(name);
    return claim !== undefined && !isTerminating(claim);
  });
  if (!isComplete || failed(snapshot, 'pvcs')) return [];
  const { runtime } = snapshot.settings;
  const refusal = runtimeRefusal(sandbox, runtime);
  if (refusal !== undefined) return [{ kind: 'refuse', phase: 'pod', message: refusal }];
  return [{ kind: 'createPod', phase: 'pod', pod: buildPod(sandbox, runtime) }];
}

/** A Pod without the daemon that was asked for would look well and serve nobody. */
function runtimeRefusal({ spec }: Sandbox, { image }: RuntimeSettings): string | undefined {
  if (spec.runtime?.inject !== true) return undefined;
  return injectionRefusal(spec.podTemplate.spec, spec.runtime.image ?? image);
}
