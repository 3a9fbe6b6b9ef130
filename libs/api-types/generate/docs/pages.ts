import { isUpstream } from '../crd.ts';
import { kinds } from '../kinds.ts';
import type { Kind } from '../kinds.ts';
import type { Output } from '../outputs.ts';
import { buildRows } from './build-conditions.ts';
import { claimRows } from './claim-conditions.ts';
import { formatConditionTable } from './condition-table.ts';
import { formatFieldTable, formatRuleTable } from './fields.ts';
import { formatAnnotationTable, labelTable } from './keys.ts';
import { templateRows, warmPoolRows } from './pool-and-template-conditions.ts';
import { sandboxRows } from './sandbox-conditions.ts';
import { snapshotRows } from './snapshot-conditions.ts';
import { code, table, withBlock } from './table.ts';

const FOLDER = 'docs/reference';

/** The generated blocks of one page, by name. */
interface Page {
  readonly path: string;
  readonly blocks: Readonly<Record<string, string>>;
}

const pages: readonly Page[] = [
  { path: `${FOLDER}/versions.md`, blocks: { kinds: formatKindTable() } },
  formatKindPage('sandbox.md', 'Sandbox', { conditions: formatConditionTable(sandboxRows) }),
  formatKindPage('sandbox-template.md', 'SandboxTemplate', { conditions: formatConditionTable(templateRows) }),
  formatKindPage('sandbox-warm-pool.md', 'SandboxWarmPool', { conditions: formatConditionTable(warmPoolRows) }),
  formatKindPage('sandbox-claim.md', 'SandboxClaim', { conditions: formatConditionTable(claimRows) }),
  formatKindPage('sandbox-snapshot.md', 'SandboxSnapshot', { conditions: formatConditionTable(snapshotRows) }),
  formatKindPage('sandbox-template-build.md', 'SandboxTemplateBuild', { conditions: formatConditionTable(buildRows) }),
  formatKindPage('sandbox-snapshot-class.md', 'SandboxSnapshotClass', {}),
  {
    path: `${FOLDER}/labels-and-annotations.md`,
    blocks: { labels: labelTable(), annotations: formatAnnotationTable() },
  },
];

/** The pages of the reference with their tables as the schemas and constants say; `read` gives the page as it is. */
export async function buildReferencePages(read: (path: string) => Promise<string>): Promise<readonly Output[]> {
  return Promise.all(
    pages.map(async ({ path, blocks }) => {
      const before = await read(path);
      return {
        path,
        text: Object.entries(blocks).reduce((text, [name, block]) => withBlock(text, name, block), before),
      };
    }),
  );
}

function formatKindPage(file: string, name: string, blocks: Page['blocks']): Page {
  const kind = kinds.find((candidate) => candidate.kind === name);
  if (kind === undefined) throw new Error(`there is no kind ${name}`);
  const fields = { spec: formatFieldTable(kind.spec), columns: formatColumnTable(kind) };
  const status =
    kind.status === undefined ? {} : { rules: formatRuleTable(kind.spec), status: formatFieldTable(kind.status) };
  return { path: `${FOLDER}/${file}`, blocks: { ...fields, ...status, ...blocks } };
}

function formatKindTable(): string {
  const rows = kinds.map((kind) => [
    kind.kind,
    code(kind.group),
    (isUpstream(kind) ? [kind.version, 'v1alpha1'] : [kind.version]).map(code).join(', '),
    code(kind.plural),
    kind.shortNames.map(code).join(', '),
    kind.namespaced ? 'namespace' : 'cluster',
    [...(kind.status === undefined ? [] : ['status']), ...(kind.scale ? ['scale'] : [])].join(', '),
  ]);
  return table(['kind', 'group', 'versions', 'plural', 'short names', 'scope', 'subresources'], rows);
}

function formatColumnTable({ columns }: Kind): string {
  const rows = columns.map(({ name, jsonPath, priority }) => [
    name,
    code(jsonPath),
    priority === undefined ? 'always' : 'with `-o wide`',
  ]);
  return table(['column', 'field', 'shown'], rows);
}
