import { expect, test } from 'vitest';
import { loadApart } from '../../../client/runtime/bundled.ts';

test('outside a bundle, the module that brings up a server is found where the file lies (Q1)', async () => {
  const { findBinary } = await loadApart('embedded/find-binary', 'a Temporal server of its own');
  expect(findBinary).toBeTypeOf('function');
});
