// docs/temporal-cloud.md registers the search attributes that sessions have.
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import { ATTRIBUTES } from '../../workflows/contract/visibility.ts';

const page = readFileSync(resolve(import.meta.dirname, '../../docs/temporal-cloud.md'), 'utf8');

test('the page on Temporal Cloud registers every search attribute with its type', () => {
  const named = [...page.matchAll(/\b(Perdure\w+)=(\w+)/g)].map(([, name = '', type = '']) => [name, type]);
  const types = { KEYWORD: 'Keyword', KEYWORD_LIST: 'KeywordList', INT: 'Int', DOUBLE: 'Double', DATETIME: 'Datetime' };
  expect(named).toEqual(Object.values(ATTRIBUTES).map(({ name, type }) => [name, types[type]]));
});
