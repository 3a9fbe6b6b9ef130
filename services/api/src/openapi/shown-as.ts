/** For the `meta` of a schema: replaces the type in the document, where the wire has text that is parsed into another type. */
export function shownAs(schema: Readonly<Record<string, unknown>>) {
  return ({ jsonSchema }: { readonly jsonSchema: object }): void => {
    const shown = jsonSchema as Record<string, unknown>;
    for (const name of Object.keys(shown))
      if (name !== 'description' && name !== 'default') Reflect.deleteProperty(shown, name);
    Object.assign(shown, schema);
  };
}
