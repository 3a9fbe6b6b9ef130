import type { SandboxTemplateBuild } from '@sandlot/api-types';
import type { z } from 'zod';
import type { RequestedTemplate } from './read-template.ts';
import type { templateRequestV2, templateRequestV3 } from './schemas.ts';

/** A request for a template, and the build that waits for its steps. */
export interface BuiltTemplateRequest {
  readonly build: SandboxTemplateBuild;
  readonly requested: RequestedTemplate;
  readonly team: string;
  /** A template that was published stays so. */
  readonly isPublic: boolean;
}

/** What the template-builder takes where a request does not say it. */
const USUAL = { cpu: 2, memoryMiB: 1_024 };

export function buildRequestAnswer({
  build,
  requested: { templateID, name, tags },
  team,
  isPublic,
}: BuiltTemplateRequest): z.output<typeof templateRequestV3> {
  return {
    templateID,
    buildID: build.metadata.name ?? '',
    public: isPublic,
    names: [`${team}/${name}`],
    tags: [...tags],
    aliases: [name],
  };
}

/** The answer that older clients expect: that of a template, as far as there is one. */
export function buildRequestAnswerV2(
  made: BuiltTemplateRequest,
  envdVersion: string,
): z.output<typeof templateRequestV2> {
  const { templateID, buildID, aliases } = buildRequestAnswer(made);
  const at = new Date(made.build.metadata.creationTimestamp ?? 0).toISOString();
  const { cpu = USUAL.cpu, memoryMiB = USUAL.memoryMiB } = made.requested;
  return {
    templateID,
    buildID,
    public: made.isPublic,
    aliases,
    cpuCount: cpu,
    memoryMB: memoryMiB,
    diskSizeMB: 0,
    createdAt: at,
    updatedAt: at,
    createdBy: null,
    lastSpawnedAt: null,
    spawnCount: 0,
    buildCount: 1,
    envdVersion,
  };
}
