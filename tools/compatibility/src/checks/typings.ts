/** A declaration at the top of a TypeScript file: its lines without the first and the last. */
function getBody(typings: string, head: string): readonly string[] {
  const lines = typings.split('\n');
  const start = lines.findIndex((line) => line.startsWith(head));
  if (start < 0) throw new Error(`the typings have no "${head}"`);
  const end = lines.findIndex((line, index) => index > start && line === '}');
  return lines.slice(start + 1, end < 0 ? undefined : end);
}

/** The operations that an interface of openapi-typescript declares, such as `GET /health`. */
export function listOperations(typings: string, name: string): readonly string[] {
  let path = '';
  return getBody(typings, `interface ${name} {`).flatMap((line) => {
    path = /^ {2}"(\/[^"]*)": \{$/.exec(line)?.[1] ?? path;
    const method = /^ {4}(get|put|post|delete|patch): \{$/.exec(line)?.[1];
    return method === undefined ? [] : [`${method.toUpperCase()} ${path}`];
  });
}

/** The public methods that a class declares, each once. */
export function listMethods(typings: string, name: string): readonly string[] {
  const found = getBody(typings, `declare class ${name} `).flatMap((line) => {
    const method = /^ {2}(?:static )?(\w+)(?:<.*?>)?\(/.exec(line)?.[1];
    return method === undefined || method === 'constructor' ? [] : [method];
  });
  return [...new Set(found)];
}
