// Types that openapi-typescript makes of the published description of the API, as users in
// TypeScript have them.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { root, runProgram } from './empty-project.ts';

/** It is made for this version of TypeScript. */
const PACKAGES = ['openapi-typescript@7.13.0', 'typescript@5.9.3'];

type Described = {
  readonly components: {
    readonly schemas: { readonly Event: { readonly discriminator: { readonly mapping: object } } };
  };
};

const PROGRAM = `
import type { components, paths } from './api';
type Event = components['schemas']['Event'];
export function shown(event: Event): string {
  switch (event.type) {
    case 'text_delta':
      return event.text;
    case 'tool_end':
      return event.name + ': ' + event.content;
    default:
      // @ts-expect-error Only some kinds of events have a text.
      return event.text;
  }
}
export const kinds: readonly Event['type'][] = KINDS;
// @ts-expect-error No kind has this name.
export const none: Event['type'] = 'no_such_event';
export type Start = NonNullable<paths['/sessions']['post']>['requestBody']['content']['application/json'];
`;

test('types made of the OpenAPI description compile, and tell events apart by their kind (Q11)', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'perdure-openapi-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }));
  const bin = (name: string): string => join(folder, 'node_modules/.bin', name);
  const here = { cwd: folder };
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: 'typed', private: true }));
  const install = ['install', '--no-audit', '--no-fund', '--prefer-offline', ...PACKAGES];
  expect(await runProgram('npm', install, here)).toMatchObject({ status: 0 });

  const described = join(root, 'docs/openapi.v1.json');
  const made = await runProgram(bin('openapi-typescript'), [described, '-o', 'api.d.ts'], here);
  expect(made).toMatchObject({ status: 0 });
  const { components } = JSON.parse(readFileSync(described, 'utf8')) as Described;
  const kinds = Object.keys(components.schemas.Event.discriminator.mapping);
  expect(kinds).toContain('text_delta');
  writeFileSync(join(folder, 'kinds.ts'), PROGRAM.replace('KINDS', JSON.stringify(kinds)));
  const options = ['--noEmit', '--strict', '--module', 'nodenext', '--moduleResolution', 'nodenext'];
  expect(await runProgram(bin('tsc'), [...options, 'kinds.ts'], here)).toMatchObject({ status: 0, out: '' });
});
