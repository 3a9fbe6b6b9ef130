/** The path without `.`, `..`, repeated or trailing slashes, as POSIX reads it. */
export function tidyPath(path: string): string {
  const isAbsolute = path.startsWith('/');
  const parts: string[] = [];
  for (const part of path.split('/')) {
    if (part === '' || part === '.') continue;
    if (part !== '..') parts.push(part);
    else if (parts.length > 0 && parts.at(-1) !== '..') parts.pop();
    else if (!isAbsolute) parts.push(part);
  }
  if (isAbsolute) return `/${parts.join('/')}`;
  return parts.length === 0 ? '.' : parts.join('/');
}

/** Whether the path has a step to a parent folder. */
export function hasStepUp(path: string): boolean {
  return path.split('/').includes('..');
}
