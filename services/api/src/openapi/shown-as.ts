/** In the `meta` of a schema: what the document says of it, where the wire has text that is read as something else. */
export function shownAs(schema: Readonly<Record<string, unknown>>) {
  return ({ jsonSchema }: { readonly jsonSchema: object }): void => {
    const shown = jsonSchema as Record<string, unknown>;
    for (const name of Object.keys(shown))
      if (name !== 'description' && name !== 'default') Reflect.deleteProperty(shown, name);
    Object.assign(shown, schema);
  };
}
