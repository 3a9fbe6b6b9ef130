const REFERENCE = /\$(?:\{([A-Za-z_][A-Za-z0-9_]*)\}|([A-Za-z_][A-Za-z0-9_]*))/g;

/** The most characters of all variables together. A few steps that double a value would otherwise fill the memory of the process. */
const MOST_CHARACTERS = 131_072;

/** The variables of a build are too long. */
export class VariablesTooLong extends Error {
  constructor() {
    super(`ENV: the variables have more than ${MOST_CHARACTERS} characters`);
    this.name = 'VariablesTooLong';
  }
}

/** Throws a VariablesTooLong. */
export function assertFits(variables: Readonly<Record<string, string>>): void {
  const characters = Object.entries(variables).reduce((sum, [name, value]) => sum + name.length + value.length, 0);
  if (characters > MOST_CHARACTERS) throw new VariablesTooLong();
}

/** Throws a VariablesTooLong before the value is made. Replaces `$NAME` and `${NAME}`, by nothing if the variable is not set. Backslashes, quotes, backticks and `$(` stay as they are. */
export function expandVariables(text: string, known: Readonly<Record<string, string>>): string {
  let rest = MOST_CHARACTERS - text.length;
  return text.replaceAll(REFERENCE, (_all, braced: string | undefined, plain: string | undefined) => {
    const name = braced ?? plain ?? '';
    const value = Object.hasOwn(known, name) ? (known[name] ?? '') : '';
    rest -= value.length;
    if (rest < 0) throw new VariablesTooLong();
    return value;
  });
}
