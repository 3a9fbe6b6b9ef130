import { isDeepStrictEqual } from 'node:util';
import { nameHash } from '@sandlot/std';
import { isEmpty, isMembers } from './json.ts';
import type { Members } from './json.ts';
import type { SandboxSpec } from '../objects.ts';
import { claimDefaults, getDefaultPullPolicy, podDefaults } from './pod-defaults.ts';
import { canonicaliseQuantity } from './quantity.ts';

/** The part of a template that decides what its Sandboxes run. A Sandbox spec and a template spec both have it. */
export type Blueprint = Pick<
  SandboxSpec,
  'podTemplate' | 'volumeClaimTemplates' | 'service' | 'runtime' | 'restoreFrom'
>;

/** Maps whose empty values have a meaning: the empty string selects a node label without a value. */
const SELECTORS = new Set(['nodeSelector', 'matchLabels']);
const QUANTITY_MAPS = new Set(['limits', 'requests', 'overhead', 'capacity']);
const QUANTITIES = new Set(['sizeLimit', 'divisor']);

/** NameHash of the canonical JSON (sorted keys, empty values dropped) of a blueprint (docs/reference/names-and-hashes.md#hashes). */
export function hashBlueprint(blueprint: Blueprint): string {
  const { podTemplate, volumeClaimTemplates, service, runtime, restoreFrom } = blueprint;
  const parts = { podTemplate, volumeClaimTemplates, service, runtime, restoreFrom };
  return nameHash(JSON.stringify(canonicalise(parts, { holder: '' })));
}

/**
 * Whether two blueprints give the same sandbox: Pod spec, PVC templates by position (name and spec), service, runtime and
 * the snapshot to start from. Quantities compare by value, absent equals empty and equals the API server's default; metadata does not count
 * (docs/reference/sandbox-warm-pool.md#staleness-and-rollout). Give both with the secure defaults already in place.
 */
export function hasSameBlueprint(a: Blueprint, b: Blueprint): boolean {
  return isDeepStrictEqual(applyDefaults(a), applyDefaults(b));
}

function applyDefaults({ podTemplate, volumeClaimTemplates, service, runtime, restoreFrom }: Blueprint): unknown {
  const claims = (volumeClaimTemplates ?? []).map(({ metadata, spec }) => ({
    name: metadata?.name ?? '',
    spec: canonicalise(spec, { holder: '', defaults: claimDefaults }),
  }));
  const pod = canonicalise(podTemplate.spec, { holder: '', defaults: podDefaults });
  const daemon = canonicalise(runtime ?? {}, { holder: '', defaults: { '': { inject: false } } });
  const start = canonicalise(restoreFrom ?? {}, { holder: '', defaults: { '': { onFailure: 'Fail' } } });
  return { pod, claims, service, daemon, start };
}

interface Place {
  /** Name of the member that holds the value or its list. */
  readonly holder: string;
  /** Set when values are compared by meaning, absent when they are hashed as written. */
  readonly defaults?: Readonly<Record<string, Members>> | undefined;
}

function canonicalise(value: unknown, place: Place): unknown {
  if (Array.isArray(value)) return value.map((entry) => canonicalise(entry, place));
  if (!isMembers(value)) return scalar(value, place);
  const members = Object.entries(value)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(
      ([name, member]) => [name, canonicalise(member, { ...place, holder: formatMemberHolder(name, place) })] as const,
    )
    .filter(([name, member]) => isStated(name, member, { object: value, place }));
  return Object.fromEntries(members);
}

/** The names of amounts are free (`cpu`), so the name of their map is passed down instead. */
function formatMemberHolder(name: string, { holder }: Place): string {
  return QUANTITY_MAPS.has(holder) ? holder : name;
}

function scalar(value: unknown, { holder, defaults }: Place): unknown {
  if (defaults === undefined || !(QUANTITY_MAPS.has(holder) || QUANTITIES.has(holder))) return value;
  return typeof value === 'string' || typeof value === 'number' ? (canonicaliseQuantity(value) ?? value) : value;
}

interface Context {
  readonly object: Members;
  readonly place: Place;
}

function isStated(name: string, member: unknown, { object, place }: Context): boolean {
  if (isEmpty(member)) return SELECTORS.has(place.holder) && member === '';
  return place.defaults === undefined || member !== fillIn(name, object, place.defaults[place.holder]);
}

/** The API server's default for the member. */
function fillIn(name: string, object: Members, defaults: Members | undefined): unknown {
  const { image } = object;
  if (name === 'imagePullPolicy' && typeof image === 'string') return getDefaultPullPolicy(image);
  if (name === 'serviceAccount') return object['serviceAccountName'];
  return defaults?.[name];
}
