import { annotations, formatRfc3339, labels, sandboxTemplateBuilds } from '@sandlot/api-types';
import type { SandboxClaim, SandboxTemplate, SandboxTemplateBuild, SandboxTemplateSpec } from '@sandlot/api-types';
import { formatKeyNumber } from '@sandlot/tenancy';
import type { TokenKeys } from '@sandlot/tenancy';
import { buildTemplateSpec } from '../template/template-spec.ts';

export interface SandboxWish {
  readonly build: SandboxTemplateBuild;
  readonly image: string;
  readonly attempt: number;
}

const NAME_DIGITS = 20;
const DEFAULT_TIMEOUT_SECONDS = 3_600;
/** A sandbox outlives its build by this at most, also if no process of ours is left that would delete it. */
const GRACE_MS = 600_000;

/** Name of the sandbox of one attempt, which is also its sandbox id: letters and digits. */
export function formatSandboxName(build: SandboxTemplateBuild, attempt: number): string {
  const digits = (build.metadata.uid ?? '').replaceAll('-', '').slice(0, NAME_DIGITS);
  return `build${digits}a${attempt}`;
}

/** The template of the sandbox in which the steps run: that of the templates it makes, without what runs in them at the start. */
export function buildTemplate(wish: SandboxWish, defaults: Partial<SandboxTemplateSpec>): SandboxTemplate {
  const { cpu, memoryMiB } = wish.build.spec;
  return {
    metadata: buildMetadata(wish),
    spec: buildTemplateSpec({ image: wish.image, cpu, memoryMiB, state: undefined, commands: {} }, defaults),
  };
}

export function buildClaim(wish: SandboxWish, template: SandboxTemplate, { current }: TokenKeys): SandboxClaim {
  const metadata = buildMetadata(wish);
  const number = formatKeyNumber(current.number);
  return {
    metadata: {
      ...metadata,
      labels: { ...metadata.labels, [labels.sandboxId]: metadata.name },
      annotations: number === undefined ? {} : { [annotations.tokenKey]: number },
    },
    spec: {
      sandboxTemplateRef: { name: template.metadata.name ?? '' },
      lifecycle: { shutdownTime: formatEnd(wish.build), shutdownPolicy: 'Delete' },
    },
  };
}

function formatEnd({ spec, status }: SandboxTemplateBuild): string {
  const runsMs = (spec.timeoutSeconds ?? DEFAULT_TIMEOUT_SECONDS) * 1_000;
  return formatRfc3339(Date.parse(status?.startedAt ?? '') + runsMs + GRACE_MS);
}

/** Owned by the build, so that nothing is left behind when it is deleted. */
function buildMetadata(wish: SandboxWish) {
  const { metadata } = wish.build;
  const { group, version, kind } = sandboxTemplateBuilds;
  const owner = {
    apiVersion: `${group}/${version}`,
    kind,
    name: metadata.name ?? '',
    uid: metadata.uid ?? '',
    controller: true,
  };
  return {
    namespace: metadata.namespace,
    name: formatSandboxName(wish.build, wish.attempt),
    labels: { [labels.templateBuild]: metadata.uid ?? '' },
    ownerReferences: [owner],
  };
}
