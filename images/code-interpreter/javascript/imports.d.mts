export const importer: string;
export function rewriteImports(code: string): string;
