/** The parts of a template's name as clients write it: `name`, `name:tag`, `team/name`, `team/name:tag`. */
export interface TemplateName {
  readonly name: string;
  readonly team: string | undefined;
  readonly tag: string | undefined;
}

/** Templates that no build made have no versions, so only these tags exist. */
const CURRENT_TAGS: ReadonlySet<string> = new Set(['default', 'latest']);
const NAME = /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/;

/** Undefined if no template can have that name. */
export function parseTemplateName(text: string): TemplateName | undefined {
  const [, team, name = '', tag] = /^(?:([^/:]+)\/)?([^/:]+)(?::([^/:]+))?$/.exec(text) ?? [];
  return NAME.test(name) ? { name, team, tag } : undefined;
}

/** Whether a pool or template can have that name. */
export function isObjectName(name: string): boolean {
  return NAME.test(name);
}

/** Whether the name can mean a template of `ownTeam`. */
export function isOwnName({ team, tag }: TemplateName, ownTeam: string): boolean {
  return (team === undefined || team === ownTeam) && (tag === undefined || CURRENT_TAGS.has(tag));
}
