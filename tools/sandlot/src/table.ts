/** Rows of cells as lines of text: each column as wide as its widest cell, the last one as it is. */
export function formatTable(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).slice(0, -1).map((_, at) => Math.max(...rows.map((row) => row[at]?.length ?? 0)));
  const formatRow = (row: readonly string[]): string => row.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join('  ');
  return rows.map((row) => formatRow(row).trimEnd()).join('\n');
}
