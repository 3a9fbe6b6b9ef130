/** A version of CHANGELOG.md. */
export interface Section {
  /** Such as `0.2.0`, or `Unreleased`. */
  readonly version: string;
  /** Such as `2026-11-24`. Absent for what is not released. */
  readonly date: string | undefined;
  /** Markdown without the heading. */
  readonly text: string;
}

const HEADING = /^## \[?(?<version>Unreleased|\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?)\]?(?: - (?<date>\d{4}-\d{2}-\d{2}))?$/;

/** Reads the sections of a changelog, newest first. Throws if a heading of the second level is none of a version. */
export function parseChangelog(markdown: string): readonly Section[] {
  const [, ...parts] = `\n${markdown}`.split(/\n(?=## )/);
  return parts.map((part) => {
    const [heading = '', ...lines] = part.split('\n');
    const groups = HEADING.exec(heading)?.groups;
    if (groups === undefined) {
      throw new Error(`CHANGELOG.md: "${heading}" must be "## Unreleased" or "## 1.2.3 - 2026-01-31"`);
    }
    return { version: groups['version'] ?? '', date: groups['date'], text: lines.join('\n').trim() };
  });
}

/** Returns what a release says of itself. Throws if the changelog has no dated section of it, or an empty one. */
export function getNotes(markdown: string, version: string): string {
  const section = parseChangelog(markdown).find((found) => found.version === version);
  if (section === undefined) throw new Error(`CHANGELOG.md has no section "## ${version} - <date>": write one`);
  if (section.date === undefined) throw new Error(`CHANGELOG.md: the section of ${version} has no date`);
  if (section.text === '') throw new Error(`CHANGELOG.md: the section of ${version} is empty`);
  return section.text;
}
