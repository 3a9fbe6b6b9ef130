import type { Panel, Row } from './model.ts';

type Plain = Omit<Panel, 'width'> & { readonly width?: number };

/** Creates a row of panels. Their default width is a quarter of the page. */
export function row(title: string, panels: readonly Plain[], height = 8): Row {
  return { title, height, panels: panels.map((panel) => ({ width: 6, ...panel })) };
}
