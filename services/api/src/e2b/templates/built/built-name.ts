// What clients of E2B call the SandboxTemplates that were built over the API: one for each tag, with one id for all of them.
import { createHash } from 'node:crypto';
import { annotations, labels } from '@sandlot/api-types';
import type { KubeObject } from '@sandlot/kube';
import { DEFAULT_TAG, readTemplateReference } from '@sandlot/template-build';
import type { TemplateReference } from '@sandlot/template-build';
import type { ApiKey } from '@sandlot/tenancy';
import { isCopy } from '../../../state/of-running-build.ts';

export interface BuiltName {
  /** The id that all tags share. */
  readonly templateID: string;
  /** Without team and tag. */
  readonly name: string;
  readonly tag: string;
}

const TAG_DIGITS = 10;
const TEMPLATE_ID = /^[a-z][a-z0-9]{19}$/;

/** Name of the SandboxTemplate to which a tag leads, and of its pool. Tags may have characters that names of objects may not. */
export function formatObjectOf(templateID: string, tag: string): string {
  if (tag === DEFAULT_TAG) return templateID;
  return `${templateID}-${createHash('sha256').update(tag).digest('hex').slice(0, TAG_DIGITS)}`;
}

/** Undefined for what was not built over the API for its own namespace. */
export function findBuiltName({ metadata }: Pick<KubeObject, 'metadata'>): BuiltName | undefined {
  if (isCopy({ metadata })) return undefined;
  const { [labels.templateId]: templateID, [labels.builtBy]: madeBy } = metadata.labels ?? {};
  const { [annotations.templateName]: name, [annotations.templateTag]: tag } = metadata.annotations ?? {};
  if (templateID === undefined || madeBy === undefined || name === undefined || tag === undefined) return undefined;
  // Who may write labels could otherwise have a template found under a tag that it does not have.
  return formatObjectOf(templateID, tag) === metadata.name ? { templateID, name, tag } : undefined;
}

export function isTemplateId(text: string): boolean {
  return TEMPLATE_ID.test(text);
}

/** Whether a part of a reference names the team of the key: by its name or by its namespace. */
export function isOwnTeam(team: string | undefined, key: Pick<ApiKey, 'team' | 'namespace'>): boolean {
  return team === undefined || team === key.team.toLowerCase() || team === key.namespace;
}

/** Undefined if no template that was built can have that name. */
export function findReference(text: string): TemplateReference | undefined {
  const read = readTemplateReference(text);
  return 'problem' in read ? undefined : read;
}
