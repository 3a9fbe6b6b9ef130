/** Where images of one namespace go, below the prefix of the registry. Each namespace has repositories of its own. */
export function formatTemplateRepository(namespace: string, template: string): string {
  return `${namespace}/${template}`;
}

/** Images of steps, which all builds of the namespace share. Names of templates are DNS labels, so none has a dot. */
export function formatCacheRepository(namespace: string): string {
  return `${namespace}/build.cache`;
}

/** Archives of COPY. */
export function formatFilesRepository(namespace: string): string {
  return `${namespace}/build.files`;
}
