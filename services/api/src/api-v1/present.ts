type Present<T> = { [K in keyof T]?: Exclude<T[K], undefined> };

/** An object without the members that are undefined: what is absent is left out, not sent as nothing. */
export function present<T extends object>(fields: T): Present<T> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Present<T>;
}
