import tseslint from 'typescript-eslint';

/** Time, randomness and ids are injected; only libs/std and a service's main.ts may read the real ones. */
const nondeterminism = [
  { selector: "CallExpression[callee.object.name='Date'][callee.property.name='now']", message: 'Inject a Clock.' },
  { selector: "NewExpression[callee.name='Date'][arguments.length=0]", message: 'Inject a Clock.' },
  { selector: "CallExpression[callee.object.name='Math'][callee.property.name='random']", message: 'Inject a Random.' },
];

/** A decision is a pure function: one snapshot in, a plan out. */
const effects = [
  { selector: ':function[async=true]', message: 'A decision does not wait: observe first, then decide.' },
  { selector: 'AwaitExpression', message: 'A decision does not wait: observe first, then decide.' },
  { selector: 'NewExpression[callee.name=/^(Promise|WeakMap|WeakRef)$/]', message: 'A decision keeps nothing.' },
];

/** A snapshot is plain data: a function in it could read or write when the decision calls it. */
const behaviour = [
  {
    selector: 'TSFunctionType',
    message: 'A snapshot is plain data: observe calls the function and stores its result.',
  },
  {
    selector: 'TSMethodSignature',
    message: 'A snapshot is plain data: observe calls the method and stores its result.',
  },
];

export default tseslint.config(
  { ignores: ['**/dist/**', '**/node_modules/**', '**/generated/**', '**/coverage/**', '.sandlot/**'] },
  {
    files: ['**/*.ts'],
    extends: [tseslint.configs.strictTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    linterOptions: { reportUnusedDisableDirectives: 'error' },
    rules: {
      complexity: ['error', 10],
      'max-depth': ['error', 3],
      'max-params': ['error', 3],
      'max-lines': ['error', { max: 400 }],
      'max-lines-per-function': ['error', { max: 60, skipComments: true }],
      'no-restricted-syntax': ['error', ...nondeterminism],
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true, allowBoolean: true }],
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      // `using` keeps something until the end of the block; the name is not read.
      '@typescript-eslint/no-unused-vars': ['error', { ignoreUsingDeclarations: true }],
      '@typescript-eslint/require-await': 'off',
      '@typescript-eslint/no-invalid-void-type': [
        'error',
        { allowInGenericTypeArguments: true, allowAsThisParameter: true },
      ],
    },
  },
  {
    files: ['libs/std/src/clock.ts', 'libs/std/src/random.ts', '**/main.ts'],
    rules: { 'no-restricted-syntax': 'off' },
  },
  {
    // A describe block is a table of cases, not a function that does one thing; tests and tools may read the clock.
    files: ['**/*.test.ts', '**/bench/**/*.ts', 'e2e/**/*.ts', 'tools/**/*.ts'],
    rules: {
      'no-restricted-syntax': 'off',
      'max-lines-per-function': 'off',
      '@typescript-eslint/no-non-null-assertion': 'off',
    },
  },
  {
    files: ['services/**/decide*.ts'],
    ignores: ['**/*.test.ts'],
    rules: {
      'no-restricted-syntax': ['error', ...nondeterminism, ...effects],
      'no-param-reassign': ['error', { props: true }],
    },
  },
  {
    files: ['services/**/snapshot*.ts'],
    ignores: ['**/*.test.ts'],
    rules: { 'no-restricted-syntax': ['error', ...nondeterminism, ...behaviour] },
  },
);
