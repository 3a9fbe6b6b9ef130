import { describe } from 'vitest';
import { registerPythonTests } from '../../support/sdk/python-tests.ts';

describe('template builds by the e2b client for Python', () => registerPythonTests('template_builds'));
