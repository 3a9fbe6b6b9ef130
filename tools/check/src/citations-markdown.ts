/** A link or an image of a Markdown file, with the line it stands in. */
export interface Link {
  readonly target: string;
  readonly line: number;
}

/** A heading as GitHub links to it: lower case, no punctuation, hyphens for spaces. */
function getSlug(heading: string): string {
  const text = heading.replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1');
  return text
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replace(/\s/g, '-');
}

/** The anchors of a Markdown file: its headings, repetitions numbered from 1, and the ids of HTML anchors. */
export function getAnchors(markdown: string): ReadonlySet<string> {
  const anchors = new Set<string>();
  const seen = new Map<string, number>();
  for (const { text } of getProse(markdown)) {
    for (const [, id] of text.matchAll(/<a (?:id|name)="([^"]+)"/g)) anchors.add(id ?? '');
    const heading = /^#{1,6}\s+(.*?)\s*#*$/.exec(text)?.[1];
    if (heading === undefined) continue;
    const slug = getSlug(heading);
    const repeated = seen.get(slug) ?? 0;
    seen.set(slug, repeated + 1);
    anchors.add(repeated === 0 ? slug : `${slug}-${repeated}`);
  }
  return anchors;
}

/** The targets of links, images and link definitions, those in code left out. */
export function listLinks(markdown: string): readonly Link[] {
  return getProse(markdown).flatMap(({ text, line }) => {
    const prose = text.replace(/`[^`]*`/g, '');
    const inline = [...prose.matchAll(/\]\(\s*<?([^)\s>]+)>?(?:\s+"[^"]*")?\s*\)/g)];
    const defined = [...prose.matchAll(/^\s*\[[^\]]+\]:\s+(\S+)/g)];
    return [...inline, ...defined].map(([, target]) => ({ target: target ?? '', line }));
  });
}

/** The lines outside of fenced code, numbered from 1. */
function getProse(markdown: string): readonly { readonly text: string; readonly line: number }[] {
  let fence: string | undefined;
  return markdown.split('\n').flatMap((text, index) => {
    const mark = /^\s*(`{3,}|~{3,})/.exec(text)?.[1];
    if (mark !== undefined && (fence === undefined || mark.startsWith(fence))) {
      fence = fence === undefined ? mark : undefined;
      return [];
    }
    return fence === undefined ? [{ text, line: index + 1 }] : [];
  });
}
