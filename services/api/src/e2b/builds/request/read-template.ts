import { collectTags, computeTemplateId, findTagProblem, readTemplateReference } from '@sandlot/template-build';
import type { ApiKey } from '@sandlot/tenancy';
import { badRequest } from '../../../errors/api-error.ts';
import { isOwnTeam } from '../../templates/built/built-name.ts';
import type { NewTemplate } from './schemas.ts';

/** A request to build a template, with all its fields checked. */
export interface RequestedTemplate {
  readonly templateID: string;
  readonly name: string;
  /** At least one. */
  readonly tags: readonly string[];
  readonly cpu: number | undefined;
  readonly memoryMiB: number | undefined;
  readonly minFreeDiskMiB: number | undefined;
}

/** Checks the body of a request for a template. Throws an ApiError 400. */
export function readTemplateRequest(body: NewTemplate, key: Pick<ApiKey, 'team' | 'namespace'>): RequestedTemplate {
  assertTeam(body.teamID ?? '', key);
  const reference = readTemplateReference(body.name ?? body.alias ?? '');
  if ('problem' in reference) throw badRequest(reference.problem);
  const { name, team = '' } = reference;
  if (!isOwnTeam(reference.team, key)) throw badRequest(`namespace '${team}' must match your team '${key.team}'`);
  const tags = collectTags(reference, body.tags ?? []);
  for (const tag of tags) {
    const problem = findTagProblem(tag);
    if (problem !== undefined) throw badRequest(problem);
  }
  return { templateID: computeTemplateId(key.namespace, name), name, tags, ...readSize(body) };
}

/** Throws an ApiError 400 for a team that is not that of the key. */
export function assertTeam(teamID: string, key: Pick<ApiKey, 'team' | 'namespace'>): void {
  if (teamID !== '' && teamID !== key.namespace && teamID !== key.team)
    throw badRequest('Team ID param mismatch with the API key');
}

function readSize({ cpuCount, memoryMB, minFreeDiskMb }: NewTemplate) {
  const [cpu, memoryMiB] = [cpuCount ?? undefined, memoryMB ?? undefined];
  if (cpu !== undefined && cpu !== 1 && cpu % 2 !== 0) throw badRequest('CPU count must be 1 or an even number');
  if (memoryMiB !== undefined && memoryMiB % 2 !== 0) throw badRequest('Memory must be divisible by 2');
  return { cpu, memoryMiB, minFreeDiskMiB: minFreeDiskMb ?? undefined };
}
