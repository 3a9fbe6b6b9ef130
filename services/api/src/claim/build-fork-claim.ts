import { annotations, formatRfc3339, getTemplateId, labels, withoutReservedKeys } from '@sandlot/api-types';
import type { SandboxClaim } from '@sandlot/api-types';
import type { ApiKey } from '@sandlot/tenancy';
import { buildKeyAnnotations, CONTROL_VIEW } from './annotations.ts';
import { buildEnvs } from './env-secret.ts';
import type { Variables } from './env-secret.ts';

export interface ForkInput {
  /** The claim of the sandbox that is forked. */
  readonly source: SandboxClaim;
  /** The template that starts from its memory. */
  readonly templateName: string;
  /** Of the request, and how many Sandboxes it may have at a time; 0: any number. */
  readonly key: ApiKey;
  readonly sandboxLimit: number;
  /** The id of the fork, which is also the claim's name. */
  readonly id: string;
  readonly envs: Variables;
  readonly nowMs: number;
  /** When the claim goes if no client ever gets its id. */
  readonly endMs: number;
  readonly timeoutSeconds: number;
  /** What it records of its own tokens. */
  readonly tokens: Readonly<Record<string, string>>;
  readonly trace: string | undefined;
}

/** What a fork has from its source. */
const INHERITED = [
  annotations.metadata,
  annotations.snapshotName,
  annotations.templateName,
  annotations.onTimeout,
  annotations.autoPauseMemory,
  annotations.autoResume,
  annotations.network,
  annotations.pausedRetention,
  annotations.volumeMounts,
  CONTROL_VIEW,
] as const;

/**
 * The claim of a fork: metadata, variables, egress and what happens at its end are those of the source; id, tokens, key and
 * end are its own. Until a client has its id the claim is deleted at its end, also where it is to pause then.
 */
export function buildForkClaim(input: ForkInput): SandboxClaim {
  const { source, templateName, key, id, envs, endMs } = input;
  const { skipInitRuntime } = source.spec;
  return {
    metadata: {
      namespace: key.namespace,
      name: id,
      labels: { ...withoutReservedKeys(source.metadata.labels), [labels.sandboxId]: id },
      annotations: { ...inherit(source), ...buildOwnAnnotations(input) },
    },
    spec: {
      sandboxTemplateRef: { name: templateName },
      lifecycle: { shutdownTime: formatRfc3339(endMs), shutdownPolicy: 'Delete' },
      ...buildEnvs(envs),
      ...(skipInitRuntime === true ? { skipInitRuntime } : {}),
    },
  };
}

function inherit({ metadata: { annotations: given = {} } }: SandboxClaim): Record<string, string> {
  const kept = INHERITED.flatMap((name) => {
    const value = given[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  const network = given[annotations.network];
  // A new claim becomes Ready only when its rules hold.
  const applied = network === undefined ? {} : { [annotations.networkApplied]: network };
  return { ...Object.fromEntries(kept), ...applied };
}

function buildOwnAnnotations(input: ForkInput): Record<string, string> {
  const { source, key, sandboxLimit, nowMs, endMs, timeoutSeconds, tokens, trace } = input;
  return {
    ...buildKeyAnnotations(key.id, sandboxLimit),
    [annotations.createdAt]: new Date(nowMs).toISOString(),
    [annotations.endAt]: formatRfc3339(endMs),
    [annotations.timeoutSeconds]: String(timeoutSeconds),
    [annotations.forkedTemplate]: getTemplateId(source),
    ...tokens,
    ...(trace === undefined ? {} : { [annotations.traceContext]: trace }),
  };
}
