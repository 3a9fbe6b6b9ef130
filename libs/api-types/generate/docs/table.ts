/** A Markdown table. Cells are Markdown; a bar or a line break in one would end it, so both are escaped. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.map(escapeCell).join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

function escapeCell(cell: string): string {
  return cell.replaceAll('|', '\\|').replaceAll('\n', ' ');
}

/** Text as code, in a table or elsewhere. */
export function code(text: string): string {
  return `\`${text}\``;
}

/**
 * A page with `content` between the markers of the block `name`. Throws when the page lacks the markers: the text around
 * them is written by hand and must not be lost.
 */
export function withBlock(page: string, name: string, content: string): string {
  const [begin, end] = [`<!-- begin ${name}: npm run generate -->`, `<!-- end ${name} -->`];
  const [from, to] = [page.indexOf(begin), page.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`the page has no block ${name}: it needs "${begin}" and "${end}"`);
  return `${page.slice(0, from + begin.length)}\n\n${content}\n\n${page.slice(to)}`;
}
