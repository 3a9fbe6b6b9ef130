import { findController } from '@sandlot/kube/objects';
import { snapshotMessages, snapshotReasons } from '@sandlot/api-types';
import type { SandboxTemplate } from '@sandlot/api-types';
import type { Scene } from '../plan/scene.ts';
import type { Step } from '../plan/steps.ts';
import { buildFailedStatus } from '../status/build-status.ts';
import type { Problem } from '../status/build-status.ts';
import { buildTemplate, hashTemplate } from './build-template.ts';
import type { TemplateRefused } from './template-refused.ts';

/** The template that the snapshot asks for; undefined when it asks for none, or there is nothing to make it of. */
export function findWantedTemplate({ object, source }: Scene): SandboxTemplate | undefined {
  if (object.spec.templateName === undefined || source?.sandbox === undefined) return undefined;
  const hasToken = source.pod?.hasToken === true;
  return buildTemplate(object, { sandbox: source.sandbox.object, origin: source.templates?.origin, hasToken });
}

/** It is made before the save, so that a name that is taken costs nothing. */
export function decideTemplate(scene: Scene): readonly Step[] {
  const template = findWantedTemplate(scene);
  const isThere = scene.source?.templates?.named !== undefined;
  return template === undefined || isThere ? [] : [{ kind: 'template', template }];
}

/** A template of that name is left alone. That of an earlier pass is recognised by its owner, and by what it says. */
export function findTemplateProblem(scene: Scene): Problem | undefined {
  const { named } = scene.source?.templates ?? {};
  const wanted = findWantedTemplate(scene);
  if (named === undefined || wanted === undefined || isSame(named, wanted)) return undefined;
  const message = snapshotMessages.templateExists(scene.object.spec.templateName ?? '');
  return { reason: snapshotReasons.templateExists, message };
}

function isSame(named: SandboxTemplate, wanted: SandboxTemplate): boolean {
  const [owner, own] = [findController(named), findController(wanted)];
  if (owner === undefined || owner.uid !== own?.uid || owner.kind !== own.kind) return false;
  const startsFromIt = named.spec.restoreFrom?.snapshotName === wanted.spec.restoreFrom?.snapshotName;
  return startsFromIt && hashTemplate(named) === hashTemplate(wanted);
}

/** No Sandbox could start from a snapshot without copies of the disks. */
export function findDiskProblem({ object: { spec }, source, snapshotClass }: Scene): Problem | undefined {
  const disks = source?.sandbox?.object.spec.volumeClaimTemplates ?? [];
  const isCopied = disks.length === 0 || snapshotClass?.spec.disks !== undefined;
  if (spec.templateName === undefined || isCopied) return undefined;
  return { reason: snapshotReasons.disksNotSupported, message: snapshotMessages.disksNotSupported(spec.sandboxName) };
}

/** An admission policy binds the controller as it binds users who may not create Pods. */
export function decideRefusedTemplate(scene: Scene, { templateName, message }: TemplateRefused): Step {
  const text = snapshotMessages.templateRefused(templateName, message);
  const problem = { reason: snapshotReasons.templateRefused, message: text };
  return { kind: 'status', status: buildFailedStatus(scene, problem) };
}
