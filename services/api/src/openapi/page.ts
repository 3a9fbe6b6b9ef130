import { z } from 'zod';

/** The parts of an OpenAPI document that the page shows. */
const documentShape = z.object({
  info: z.object({ title: z.string(), version: z.string(), description: z.string() }),
  paths: z.record(
    z.string(),
    z.record(
      z.string(),
      z.object({
        operationId: z.string(),
        summary: z.string(),
        description: z.string().optional(),
        tags: z.array(z.string()),
        parameters: z
          .array(
            z.object({
              name: z.string(),
              in: z.string(),
              required: z.boolean().optional(),
              description: z.string().optional(),
              schema: z.unknown(),
            }),
          )
          .optional(),
        requestBody: z.unknown().optional(),
        responses: z.record(z.string(), z.unknown()),
      }),
    ),
  ),
  components: z.object({ schemas: z.record(z.string(), z.unknown()).optional() }),
});

type Document = z.output<typeof documentShape>;
type Operation = Document['paths'][string][string];

const STYLE = `
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h2 { margin-top: 3rem; text-transform: capitalize; }
details { border: 1px solid #8884; border-radius: 6px; margin: .5rem 0; padding: .5rem .8rem; }
summary { cursor: pointer; }
code, pre { font: 14px/1.45 ui-monospace, monospace; }
pre { background: #8882; border-radius: 6px; overflow: auto; padding: .6rem; }
.method { display: inline-block; font-weight: 600; min-width: 4.5rem; text-transform: uppercase; }
.get { color: #2a7ae2; } .post { color: #2b8a3e; } .put, .patch { color: #b7791f; } .delete { color: #c92a2a; }
table { border-collapse: collapse; } td, th { border-bottom: 1px solid #8884; padding: .25rem .8rem .25rem 0; text-align: left; vertical-align: top; }
`;

/** Renders an OpenAPI document as one HTML page, without scripts and external resources. */
export function renderDocsPage(given: object): string {
  const document = documentShape.parse(JSON.parse(JSON.stringify(given)));
  const { title, version, description } = document.info;
  const sections = [...byTag(document)].map(
    ([tag, operations]) => `<h2>${escapeHtml(tag)}</h2>\n${operations.join('\n')}`,
  );
  const schemas = Object.entries(document.components.schemas ?? {}).map(
    ([name, schema]) =>
      `<details id="schema-${escapeHtml(name)}"><summary><code>${escapeHtml(name)}</code></summary>${json(schema)}</details>`,
  );
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${escapeHtml(title)}</title><style>${STYLE}</style></head>
<body>
<h1>${escapeHtml(title)} <small>${escapeHtml(version)}</small></h1>
<p>${escapeHtml(description)}</p>
<p><a href="openapi.json">OpenAPI document</a></p>
${sections.join('\n')}
<h2>Schemas</h2>
${schemas.join('\n')}
</body>
</html>
`;
}

function byTag({ paths }: Document): ReadonlyMap<string, readonly string[]> {
  const sections = new Map<string, string[]>();
  for (const [path, operations] of Object.entries(paths)) {
    for (const [method, operation] of Object.entries(operations)) {
      const [tag = 'other'] = operation.tags;
      const section = sections.get(tag) ?? [];
      section.push(renderOperation(path, method, operation));
      sections.set(tag, section);
    }
  }
  return sections;
}

function renderOperation(path: string, method: string, operation: Operation): string {
  const { operationId, summary, description, parameters = [], requestBody, responses } = operation;
  const rows = parameters.map(
    ({ name, in: where, required, description: about = '' }) =>
      `<tr><td><code>${escapeHtml(name)}</code></td><td>${escapeHtml(where)}${required === true ? ', required' : ''}</td><td>${escapeHtml(about)}</td></tr>`,
  );
  return `<details id="${escapeHtml(operationId)}">
<summary><span class="method ${escapeHtml(method)}">${escapeHtml(method)}</span> <code>${escapeHtml(path)}</code> ${escapeHtml(summary)}</summary>
${description === undefined ? '' : `<p>${escapeHtml(description)}</p>`}
${rows.length === 0 ? '' : `<table><tr><th>Parameter</th><th>In</th><th></th></tr>${rows.join('')}</table>`}
${requestBody === undefined ? '' : `<p>Body</p>${json(requestBody)}`}
<p>Answers</p>${json(responses)}
</details>`;
}

function json(value: unknown): string {
  return `<pre>${escapeHtml(JSON.stringify(value, null, 2))}</pre>`;
}

function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}
