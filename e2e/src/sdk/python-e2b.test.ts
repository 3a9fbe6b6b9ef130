import { describe } from 'vitest';
import { pythonTests } from '../support/sdk/python-tests.ts';

describe('the e2b client for Python', () => pythonTests('e2b_client'));
describe('the code interpreter client for Python', () => pythonTests('code_interpreter'));
