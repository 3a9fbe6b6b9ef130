/** A template as clients refer to it: `name`, `name:tag`, `team/name`, `team/name:tag`. */
export interface TemplateReference {
  readonly team?: string | undefined;
  readonly name: string;
  readonly tag?: string | undefined;
}

/** What a reference without a tag means. */
export const DEFAULT_TAG = 'default';

const MOST_CHARACTERS = 128;
const PARTS = /^(?:([^/:]*)\/)?([^/:]*)(?::([^/:]*))?$/;
const TEAM = /^[a-z0-9][a-z0-9.-]*$/;
const NAME = /^[a-z0-9_-]+$/;
const TAG = /^[a-z0-9_.-]+$/;
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
/** They are parts of routes below `/templates`. */
const RESERVED: ReadonlySet<string> = new Set(['tags', 'aliases']);

export type ReadReference = TemplateReference | { readonly problem: string };

/** Reads a reference, trimmed and in lower case, as E2B does. */
export function readTemplateReference(text: string): ReadReference {
  const normalised = text.trim().toLowerCase();
  if (normalised === '') return { problem: 'Name is required' };
  const [, team, name = '', tag] = PARTS.exec(normalised) ?? [];
  const reference = { name, ...(team !== undefined && { team }), ...(tag !== undefined && { tag }) };
  const problem = findProblem(reference);
  return problem === undefined ? reference : { problem };
}

function findProblem({ team, name, tag }: TemplateReference): string | undefined {
  const problem = findNameProblem(name) ?? (tag === undefined ? undefined : findTagProblem(tag));
  if (problem !== undefined) return problem;
  return team === undefined || TEAM.test(team) ? undefined : `invalid namespace '${team}'`;
}

function findNameProblem(name: string): string | undefined {
  if (!NAME.test(name) || name.length > MOST_CHARACTERS)
    return `invalid template name '${name}': use a-z, 0-9, - and _, ${MOST_CHARACTERS} characters at most`;
  return RESERVED.has(name) ? `'${name}' cannot be the name of a template` : undefined;
}

/** Why the text cannot be a tag. */
export function findTagProblem(tag: string): string | undefined {
  if (UUID.test(tag)) return `invalid tag '${tag}': a tag cannot be a UUID`;
  if (TAG.test(tag) && tag.length <= MOST_CHARACTERS) return undefined;
  return `invalid tag '${tag}': use a-z, 0-9, -, _ and ., ${MOST_CHARACTERS} characters at most`;
}

/** The tags of a build: that of the name, those of the list, or the default one if there is neither; each once. */
export function collectTags({ tag }: TemplateReference, more: readonly string[]): readonly string[] {
  const tags = [...(tag === undefined ? [] : [tag]), ...more.map((each) => each.trim().toLowerCase())];
  return tags.length === 0 ? [DEFAULT_TAG] : [...new Set(tags)];
}
