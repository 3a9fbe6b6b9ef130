import { describe } from 'vitest';
import { pythonTests } from '../support/sdk/python-tests.ts';

describe('the e2b client of Python', () => pythonTests('e2b_client'));
describe('the code interpreter’s client of Python', () => pythonTests('code_interpreter'));
