import type { SandboxTemplate, SandboxWarmPool } from '@sandlot/api-types';

/** The parts of a template's name as clients write it: `name`, `name:tag`, `team/name`, `team/name:tag`. */
export interface TemplateName {
  readonly name: string;
  readonly team: string | undefined;
  readonly tag: string | undefined;
}

/** Tags that stand for what there is anyway. */
const PLAIN_TAGS: ReadonlySet<string> = new Set(['default', 'latest']);
const NAME = /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/;

/** Undefined for what can be no name here. */
export function parseTemplateName(text: string): TemplateName | undefined {
  const [, team, name = '', tag] = /^(?:([^/:]+)\/)?([^/:]+)(?::([^/:]+))?$/.exec(text) ?? [];
  return NAME.test(name) ? { name, team, tag } : undefined;
}

/** Whether a holder of a key of `team` may mean something of its own by that name. */
export function isOwnName({ team, tag }: TemplateName, ownTeam: string): boolean {
  return (team === undefined || team === ownTeam) && (tag === undefined || PLAIN_TAGS.has(tag));
}

/** What a create starts from: a pool, or a template without one. */
export type Origin =
  | { readonly kind: 'pool'; readonly name: string; readonly object: SandboxWarmPool }
  | { readonly kind: 'template'; readonly name: string; readonly object: SandboxTemplate };
