import { resolveMode } from '@sandlot/api-types';
import type { Sandbox, SandboxClaim, SandboxTemplate, SandboxWarmPool } from '@sandlot/api-types';
import type { JsonObject } from '@sandlot/kube';
import { formatFrom } from '../notes.ts';
import { noteForeign } from './fields.ts';
import type { Found, Prepared } from './prepared.ts';

/**
 * Decides for each object what agent-sandbox needs. Its CRDs store v1beta1 alone, and drop the fields of v1alpha1 that Sandlot keeps
 * as they were written: a suspended Sandbox would run, and a claim by template would be invalid.
 */
export function prepareAll(found: Found): readonly Prepared[] {
  const pools = new Set(found.SandboxWarmPool.map(({ metadata }) => formatKey(metadata)));
  const prepared = [
    ...found.SandboxTemplate.map((template) => prepareOther('SandboxTemplate', template)),
    ...found.SandboxWarmPool.map((pool) => prepareOther('SandboxWarmPool', pool)),
    ...found.Sandbox.map(prepareSandbox),
    ...found.SandboxClaim.map((claim) => prepareClaim(claim, pools)),
  ];
  return prepared.filter(({ patch, notes }) => patch !== undefined || notes.length > 0);
}

function prepareSandbox(sandbox: Sandbox): Prepared {
  const { spec } = sandbox;
  const mode = resolveMode(spec);
  const patch = { ...guard(sandbox), spec: { replicas: null, operatingMode: mode } };
  return {
    ...name('Sandbox', sandbox),
    patch: spec.replicas === undefined ? undefined : patch,
    pool: undefined,
    notes: noteForeign('Sandbox', spec),
  };
}

function prepareClaim(claim: SandboxClaim, pools: ReadonlySet<string>): Prepared {
  const { spec } = claim;
  const template = spec.sandboxTemplateRef?.name;
  const named = name('SandboxClaim', claim);
  const notes = noteForeign('SandboxClaim', spec);
  if (template === undefined) return { ...named, patch: undefined, pool: undefined, notes };
  const { namespace } = named.target;
  const pool = { namespace, name: resolvePoolName(claim, template), template };
  const patch = {
    ...guard(claim),
    spec: { sandboxTemplateRef: null, warmpool: null, warmPoolRef: { name: pool.name } },
  };
  const isThere = pools.has(formatKey(pool));
  return { ...named, patch, pool: isThere ? undefined : pool, notes };
}

/** A claim that names one pool keeps it. Others get the pool that agent-sandbox's own converter gives them. */
function resolvePoolName({ spec }: SandboxClaim, template: string): string {
  const { warmpool = 'default' } = spec;
  return ['none', 'default'].includes(warmpool) ? `shadow-pool-${template}` : warmpool;
}

type Other = SandboxTemplate | SandboxWarmPool;

function prepareOther(kind: 'SandboxTemplate' | 'SandboxWarmPool', object: Other): Prepared {
  return { ...name(kind, object), patch: undefined, pool: undefined, notes: noteForeign(kind, object.spec) };
}

type Named = Found[keyof Found][number];

function name(kind: keyof Found, { metadata }: Named): Pick<Prepared, 'from' | 'target'> {
  const { namespace = 'default', name: own = '' } = metadata;
  return {
    from: formatFrom(kind, { metadata: { namespace, name: own } }),
    target: { kind, namespace, name: own },
  };
}

function guard({ metadata: { uid, resourceVersion } }: Named): JsonObject {
  return { metadata: { uid: uid ?? null, resourceVersion: resourceVersion ?? null } };
}

const formatKey = ({ namespace, name: own }: { namespace?: string | undefined; name?: string | undefined }): string =>
  `${namespace ?? 'default'}/${own ?? ''}`;
