const REFERENCE = /\$(?:\{([A-Za-z_][A-Za-z0-9_]*)\}|([A-Za-z_][A-Za-z0-9_]*))/g;

/** Replaces `$NAME` and `${NAME}`, by nothing if the variable is not set. Backslashes, quotes, backticks and `$(` stay as they are. */
export function expandVariables(text: string, known: Readonly<Record<string, string>>): string {
  return text.replaceAll(REFERENCE, (_all, braced: string | undefined, plain: string | undefined) => {
    const name = braced ?? plain ?? '';
    return Object.hasOwn(known, name) ? (known[name] ?? '') : '';
  });
}
