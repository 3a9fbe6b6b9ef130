/**
 * Cells are scripts, in which V8 allows `await` and repeated declarations but no `import` declarations. This turns them
 * into awaited calls of `importer`, and calls of `import()` too, which V8 cannot resolve in such a script.
 */
import { parse } from 'acorn';

export const importer = '__importFromCell';

/** Returns the code without `import`. Code that is no module comes back as it is: V8 runs it or says what is wrong. */
export function rewriteImports(code) {
  const program = parseModule(code);
  if (program === undefined) return code;
  let result = code;
  // From the end, so that the places of earlier imports stay right.
  for (const node of [...listImports(program)].toSorted((a, b) => b.start - a.start)) {
    const text = node.type === 'ImportDeclaration' ? rewriteDeclaration(node, result) : importer;
    const end = node.type === 'ImportDeclaration' ? node.end : node.start + 'import'.length;
    result = result.slice(0, node.start) + text + result.slice(end);
  }
  return result;
}

function parseModule(code) {
  try {
    return parse(code, { ecmaVersion: 'latest', sourceType: 'module', allowHashBang: true });
  } catch {
    return undefined;
  }
}

function* listImports(node) {
  if (node.type === 'ImportDeclaration' || node.type === 'ImportExpression') yield node;
  for (const value of Object.values(node)) {
    for (const child of Array.isArray(value) ? value : [value]) {
      if (typeof child?.type === 'string') yield* listImports(child);
    }
  }
}

function rewriteDeclaration({ specifiers, source, attributes, start, end }, code) {
  const call = `await ${importer}(${source.raw}${formatAttributes(attributes)})`;
  const whole = specifiers.find(({ type }) => type === 'ImportNamespaceSpecifier')?.local.name;
  const names = specifiers.filter(({ type }) => type !== 'ImportNamespaceSpecifier').map(formatName);
  // A declaration over several lines keeps them, so that the lines of errors below it are right.
  const lines = '\n'.repeat(code.slice(start, end).split('\n').length - 1);
  return `${formatDeclaration({ call, whole, names })};${lines}`;
}

function formatDeclaration({ call, whole, names }) {
  const chosen = `{ ${names.join(', ')} }`;
  if (whole !== undefined)
    return names.length === 0 ? `const ${whole} = ${call}` : `const ${whole} = ${call}, ${chosen} = ${whole}`;
  return names.length === 0 ? call : `const ${chosen} = ${call}`;
}

function formatName({ type, imported, local }) {
  if (type === 'ImportDefaultSpecifier') return `default: ${local.name}`;
  return `${imported.raw ?? imported.name}: ${local.name}`;
}

function formatAttributes(attributes = []) {
  if (attributes.length === 0) return '';
  const pairs = attributes.map(({ key, value }) => `${key.raw ?? key.name}: ${value.raw}`);
  return `, { with: { ${pairs.join(', ')} } }`;
}
