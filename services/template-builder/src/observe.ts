import type { SandboxTemplate, SandboxTemplateBuild } from '@sandlot/api-types';
import type { OwnWrites, Store } from '@sandlot/kube';
import type { Clock } from '@sandlot/std';
import type { Scene } from './plan/scene.ts';
import { hasEnded } from './status/build-status.ts';
import { BY_NAMESPACE } from './wiring/informers.ts';

export interface ObserveDeps {
  readonly clock: Pick<Clock, 'now'>;
  /** The cache, ahead of it by our own writes. */
  readonly builds: Pick<OwnWrites<SandboxTemplateBuild>, 'listByIndex'>;
  readonly templates: Pick<Store<SandboxTemplate>, 'get'>;
  readonly mostRunning: number;
  /** UIDs of builds that other passes begin at this moment: their statuses do not say so yet. */
  readonly beginning: ReadonlySet<string>;
}

/** Everything known about one SandboxTemplateBuild. */
export function observe(
  { clock, builds, templates, mostRunning, beginning }: ObserveDeps,
  object: SandboxTemplateBuild,
): Scene {
  const { namespace = '', uid } = object.metadata;
  const others = [...builds.listByIndex(BY_NAMESPACE, namespace)].filter(
    (other) => other.metadata.uid !== uid && !hasEnded(other) && other.metadata.deletionTimestamp === undefined,
  );
  const running = others.filter(
    ({ metadata, status }) => status?.phase === 'Building' || beginning.has(metadata.uid ?? ''),
  );
  const found = object.spec.templates.flatMap(({ name }) => {
    const template = templates.get(`${namespace}/${name}`);
    return template === undefined ? [] : [[name, template] as const];
  });
  return {
    nowMs: clock.now(),
    object,
    running: running.length,
    ahead: running.filter((other) => beganBefore(other, object)).length,
    mostRunning,
    isSuperseded: others.some((other) => supersedes(other, object)),
    templates: new Map(found),
  };
}

/** A newer build of one of the same templates ends one that waits, and once it begins itself, also one that runs. */
function supersedes(other: SandboxTemplateBuild, object: SandboxTemplateBuild): boolean {
  const names = new Set(object.spec.templates.map(({ name }) => name));
  if (!other.spec.templates.some(({ name }) => names.has(name)) || !isNewer(other, object)) return false;
  return object.status?.phase !== 'Building' || other.spec.paused !== true;
}

function beganBefore({ status: a }: SandboxTemplateBuild, { status: b }: SandboxTemplateBuild): boolean {
  return b?.startedAt === undefined || (a?.startedAt !== undefined && a.startedAt < b.startedAt);
}

function isNewer({ metadata: a }: SandboxTemplateBuild, { metadata: b }: SandboxTemplateBuild): boolean {
  const [made, before] = [Date.parse(a.creationTimestamp ?? ''), Date.parse(b.creationTimestamp ?? '')];
  // Times have whole seconds, so the name decides between builds of one second.
  return made === before ? (a.name ?? '') > (b.name ?? '') : made > before;
}
