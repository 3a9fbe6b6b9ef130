import { format } from 'prettier';
import { mechanisms } from '../src/table.ts';
import type { Kind } from '../src/table.ts';

const BEGIN = '<!-- table: begin (npm run generate) -->';
const END = '<!-- table: end -->';

const TITLES: Readonly<Record<Kind, string>> = {
  yield: 'Yields: work that no client waits for lets claims go first',
  gather: 'Gathers: one look or one write serves several changes',
  limit: 'Limits: requests a second',
};

/** The README with the tables of the mechanisms in place of those between its two markers. */
export async function withTables(readme: string): Promise<string> {
  const [head, tail] = [readme.indexOf(BEGIN), readme.indexOf(END)];
  if (head < 0 || tail < head) throw new Error(`the README has no ${BEGIN} before ${END}`);
  const tables = (['yield', 'gather', 'limit'] as const).map(formatTable).join('\n');
  const text = `${readme.slice(0, head)}${BEGIN}\n\n${tables}\n${readme.slice(tail)}`;
  return format(text, { parser: 'markdown', printWidth: 120 });
}

function formatTable(kind: Kind): string {
  const rows = Object.entries(mechanisms)
    .filter(([, mechanism]) => mechanism.kind === kind)
    .map(([name, { values, usedIn, why, measured }]) =>
      row([`\`${name}\``, formatValues(values), usedIn.map(shortenPath).join('<br>'), why, measured]),
    );
  const header = [row(['name', 'values', 'used in', 'why', 'switched off']), row(['---', '---', '---', '---', '---'])];
  return `### ${TITLES[kind]}\n\n${[...header, ...rows].join('\n')}\n`;
}

function row(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`;
}

function formatValues(values: Readonly<Record<string, number>>): string {
  return Object.entries(values)
    .map(([name, value]) => `${name} ${value.toLocaleString('en-GB')}`)
    .join('<br>');
}

/** `services/gateway/src/access/api-keys.ts` as `gateway: access/api-keys.ts`. */
function shortenPath(path: string): string {
  return path.replace(/^(libs|services)\/([^/]+)\/src\//, '$2: ');
}
