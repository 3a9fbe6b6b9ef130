import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'yaml';
import { checkoutRoot } from '../paths.ts';

const FOLDER = join(checkoutRoot, 'charts/sandlot/files');

/**
 * Reads the chart's Prometheus rule files: every YAML file under `files/` with `groups` at the top level. Returns their
 * contents by name.
 */
export async function readChartRules(folder = FOLDER): Promise<Readonly<Record<string, string>>> {
  const names = await readdir(folder, { recursive: true }).catch(() => []);
  const rules: Record<string, string> = {};
  for (const name of names.filter((file) => /\.ya?ml$/.test(file) && !file.startsWith('crds/')).sort()) {
    const text = await readFile(join(folder, name), 'utf8');
    if (isRuleFile(parse(text))) rules[name.replaceAll('/', '-')] = text;
  }
  return rules;
}

function isRuleFile(document: unknown): boolean {
  return typeof document === 'object' && document !== null && 'groups' in document && Array.isArray(document.groups);
}
