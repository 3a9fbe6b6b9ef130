/** The API server refuses the template of a snapshot for good: an admission policy, or its content. */
export class TemplateRefused extends Error {
  override readonly name = 'TemplateRefused';
  readonly code = 'TemplateRefused';
  readonly templateName: string;

  constructor(templateName: string, cause: Error) {
    super(cause.message, { cause });
    this.templateName = templateName;
  }
}
