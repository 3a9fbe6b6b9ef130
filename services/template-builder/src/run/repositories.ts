// Below the prefix of the registry each namespace has repositories of its own. Their names follow from the namespace alone, so that all that
// a namespace has can be found without the objects that led to it.

/** Images of templates. */
export function formatImageRepository(namespace: string): string {
  return `${namespace}/build.images`;
}

/** Images of steps, which all builds of the namespace share. */
export function formatCacheRepository(namespace: string): string {
  return `${namespace}/build.cache`;
}

/** Archives of COPY. */
export function formatFilesRepository(namespace: string): string {
  return `${namespace}/build.files`;
}
