/** A record with a value for each name. */
export function buildRecord<Name extends string, Value>(
  names: readonly Name[],
  build: (name: Name) => Value,
): Readonly<Record<Name, Value>> {
  return Object.fromEntries(names.map((name) => [name, build(name)])) as Record<Name, Value>;
}

/** The same with values that take time. All are under way at once. */
export async function readRecord<Name extends string, Value>(
  names: readonly Name[],
  read: (name: Name) => Promise<Value>,
): Promise<Readonly<Record<Name, Value>>> {
  const values = await Promise.all(names.map(async (name) => [name, await read(name)] as const));
  return Object.fromEntries(values) as Record<Name, Value>;
}
