/** Whether a file has a test of this name. In TypeScript the name is a text, in Go and Python a function. */
export function hasTest(text: string, name: string): boolean {
  return [`'${name}'`, `func ${name}(`, `def ${name}(`].some((form) => text.includes(form));
}
