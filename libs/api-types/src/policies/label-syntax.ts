const NAME = /^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/;
const DOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const NAME_LIMIT = 63;
const DOMAIN_LIMIT = 253;

/** Why a key of a label or annotation is not a qualified name; undefined when it is one. */
export function findQualifiedNameProblem(key: string): string | undefined {
  const parts = key.split('/');
  if (parts.length > 2) return 'it has more than one slash';
  const [name = '', domain] = parts.reverse();
  return (domain === undefined ? undefined : findDomainProblem(domain)) ?? nameProblem(name);
}

/** Why a value is not a label value; undefined when it is one. */
export function labelValueProblem(value: string): string | undefined {
  if (value.length > NAME_LIMIT) return `it is longer than ${NAME_LIMIT} characters`;
  if (value === '' || NAME.test(value)) return undefined;
  return "only letters, digits, '-', '_' and '.' are allowed, with a letter or digit at both ends";
}

function findDomainProblem(domain: string): string | undefined {
  if (domain === '') return 'the domain before the slash is empty';
  if (domain.length > DOMAIN_LIMIT) return `the domain is longer than ${DOMAIN_LIMIT} characters`;
  return DOMAIN.test(domain) ? undefined : `"${domain}" is not a lower-case DNS subdomain`;
}

function nameProblem(name: string): string | undefined {
  if (name === '') return 'the name is empty';
  if (name.length > NAME_LIMIT) return `the name is longer than ${NAME_LIMIT} characters`;
  if (NAME.test(name)) return undefined;
  return "the name may hold only letters, digits, '-', '_' and '.', with a letter or digit at both ends";
}
