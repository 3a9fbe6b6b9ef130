import { resolveMode } from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';
import type { Pod } from '@sandlot/kube/objects';
import { listDiskNames } from '../disks/disk-names.ts';
import { findMemoryState } from '../drain/protection.ts';
import { findVacantUntilMs } from '../drain/vacancy.ts';
import { buildHibernation } from '../hibernate/build-hibernation.ts';
import { findAwaited, findNext } from '../hibernate/choose-hibernation.ts';
import { isKept, judgeSave } from '../hibernate/judge-save.ts';
import { buildSaveLossNote } from '../hibernate/notes.ts';
import { needsOnlyFiles } from '../hibernate/refusals.ts';
import { withFiles, withRestore, withSavedDaemon } from '../hibernate/restored-pod.ts';
import { findRefusal, takeOver } from '../ownership/ownership.ts';
import { hasFailed, isTerminating, findOnlyPod } from '../plan/snapshot.ts';
import type { RuntimeSettings, Snapshot } from '../plan/snapshot.ts';
import type { Plan, Step } from '../plan/steps.ts';
import { isPodBarred, isStartRefused, mayBoot } from '../start-memory/start-record.ts';
import { buildPod } from './build-pod.ts';
import { decideCpu } from './decide-cpu.ts';
import { decideImage } from './decide-image.ts';
import { findResolverRefusal } from './egress-resolver.ts';
import { buildKeySecret, findSandboxKey } from './key-secret.ts';
import { buildPodMetadataPatch, buildWantedPodMetadata, withMemoryState } from './pod-metadata.ts';
import { isRestartDue } from './restart.ts';
import { findInjectionRefusal } from './runtime-injection.ts';
import { isUselessMember } from './runtime-key.ts';

/**
 * Keeps exactly one Pod while the Sandbox runs, and none while it is suspended: docs/reference/sandbox.md#pod-states. With
 * several Pods under our UID nothing is decided, because a choice could delete the one that holds the user's work.
 */
export function decidePod(snapshot: Snapshot): Plan {
  if (hasFailed(snapshot, 'pod') || snapshot.ownedPods.length > 1) return [];
  if (resolveMode(snapshot.sandbox.spec) === 'Suspended') return decideSuspension(snapshot);
  const pod = findOnlyPod(snapshot);
  if (pod !== undefined) return decidePresent(snapshot, pod);
  if (snapshot.foreignPod !== undefined) return decideTakeOver(snapshot, snapshot.foreignPod);
  return decideCreation(snapshot);
}

function decideSuspension(snapshot: Snapshot): Plan {
  const pod = findOnlyPod(snapshot);
  return pod === undefined || isTerminating(pod) ? [] : decideEnd(snapshot, pod);
}

/** With hibernation the Pod goes once its memory is saved, or cannot be. */
function decideEnd(snapshot: Snapshot, pod: Pod): Plan {
  const { sandbox } = snapshot;
  const end: Step = { kind: 'deletePod', pod, phase: 'pod' };
  const save = judgeSave(snapshot, pod);
  switch (save.kind) {
    case 'stop':
      return [end];
    case 'saved':
      return [{ ...end, isFrozen: true }];
    case 'wait':
      return [];
    case 'create':
      return [{ kind: 'createHibernation', phase: 'hibernation', hibernation: buildHibernation(sandbox, pod), pod }];
    default:
      if (isKept(snapshot, save)) return [];
      return [end, { kind: 'recordEvent', note: buildSaveLossNote(save.why), isLoss: true }];
  }
}

/**
 * A terminating Pod keeps its name and disks until it is gone, on a dead node too, so nothing is done. A Pod that ended is
 * deleted when its restart is due; one that no claim can use, or that could not start from its snapshot, at once.
 */
function decidePresent(snapshot: Snapshot, pod: Pod): Plan {
  if (isTerminating(pod)) return [];
  const { sandbox, settings } = snapshot;
  const isUseless = isStartRefused(sandbox) || isUselessMember(sandbox, pod, settings.runtime);
  if (isUseless || isRestartDue(snapshot)) return [{ kind: 'deletePod', pod, phase: 'pod' }];
  const patch = buildPodMetadataPatch(sandbox, pod, findMemoryState(snapshot, pod));
  if (patch !== undefined) return [{ kind: 'patchPod', phase: 'pod', pod, patch }];
  const image = decideImage(sandbox, pod);
  if (image.length > 0) return image;
  return hasFailed(snapshot, 'resize') ? [] : decideCpu(sandbox, pod);
}

function decideTakeOver({ sandbox }: Snapshot, pod: Pod): Plan {
  const ending = isTerminating(pod);
  const refusal = findRefusal('pod', pod, sandbox) ?? (ending ? undefined : findStartRefusal(sandbox, pod));
  if (refusal !== undefined) return [{ kind: 'reportFailure', phase: 'pod', message: refusal }];
  if (ending) return [];
  const metadata = { ...takeOver(pod, sandbox), ...buildWantedPodMetadata(sandbox) };
  return [{ kind: 'patchPod', phase: 'pod', pod, patch: { metadata } }];
}

/** A Pod that was there before has nothing of the snapshot. */
function findStartRefusal(sandbox: Sandbox, { metadata: { name = '' } }: Pod): string | undefined {
  if (mayBoot(sandbox)) return undefined;
  return `pod "${name}" does not come from the snapshot that spec.restoreFrom names. Delete it`;
}

/** Only with all disks ours: a Pod must never mount a foreign or terminating PersistentVolumeClaim of the right name. */
function decideCreation(snapshot: Snapshot): Plan {
  const { sandbox, disks } = snapshot;
  const isComplete = listDiskNames(sandbox).every((name) => {
    const disk = disks.get(name);
    return disk !== undefined && !isTerminating(disk);
  });
  if (!isComplete || hasFailed(snapshot, 'disks') || hasFailed(snapshot, 'hibernation')) return [];
  if (findAwaited(snapshot) !== undefined || findVacantUntilMs(snapshot) !== undefined) return [];
  if (isPodBarred(sandbox)) return [];
  if (snapshot.needsNetworkLook || snapshot.needsMemoryLook) return [{ kind: 'requeueNow' }];
  const refusal = findBuildRefusal(snapshot);
  if (refusal !== undefined) return [{ kind: 'reportFailure', phase: 'pod', message: refusal }];
  return decideBuild(snapshot);
}

/** The Secret comes first: the kubelet holds a Pod back whose Secret is missing, and looks for it again only after a time. */
function decideBuild(snapshot: Snapshot): Plan {
  const { egressResolver, egressCa } = snapshot;
  const { runtime } = snapshot.settings;
  const next = findNext(snapshot);
  if (next === undefined && !mayBoot(snapshot.sandbox)) return [];
  const isFilesOnly = next !== undefined && needsOnlyFiles(snapshot.sandbox, next);
  const sandbox = next === undefined || isFilesOnly ? snapshot.sandbox : withSavedDaemon(snapshot.sandbox, next);
  const key = findSandboxKey(sandbox, runtime);
  const pod = buildPod(sandbox, { ...runtime, egressResolver, egressCa }, key);
  const whole = withMemoryState(pod, findMemoryState(snapshot));
  const withMemory = next === undefined ? whole : withRestore(whole, next);
  const create: Step = { kind: 'createPod', phase: 'pod', pod: isFilesOnly ? withFiles(whole, next) : withMemory };
  if (key === undefined) return [create];
  const secret = buildKeySecret(sandbox, key);
  return [{ kind: 'createKeySecret', phase: 'pod', secret, privateKey: key.privateKey }, create];
}

function findBuildRefusal({ sandbox, settings, egressResolver }: Snapshot): string | undefined {
  return findRuntimeRefusal(sandbox, settings.runtime) ?? findResolverRefusal(sandbox, egressResolver);
}

/** A Pod without the requested daemon would be Ready and useless. */
function findRuntimeRefusal({ spec }: Sandbox, runtime: RuntimeSettings): string | undefined {
  if (spec.runtime?.inject !== true) return undefined;
  return findInjectionRefusal(spec.podTemplate.spec, { ...runtime, image: spec.runtime.image ?? runtime.image });
}
