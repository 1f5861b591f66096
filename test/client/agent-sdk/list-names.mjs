// Prints the names that the package in FOLDER declares, for sdk-names.json, and nothing else of it:
// node test/client/agent-sdk/list-names.mjs FOLDER
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createJiti } from 'jiti';
import ts from 'typescript';

const folder = process.argv[2] ?? '.';
const { declaredNames } = await createJiti(import.meta.url).import('./declared-names.ts');
const { name, version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
const options = {
  strict: true,
  module: ts.ModuleKind.ESNext,
  moduleResolution: ts.ModuleResolutionKind.Bundler,
  target: ts.ScriptTarget.ES2023,
  types: ['node'],
};
const names = declaredNames(join(folder, 'sdk.d.ts'), options);
const lines = Object.entries(names).map(([key, members]) => `    ${JSON.stringify(key)}: ${JSON.stringify(members)}`);
console.log(
  `{\n  "package": "${name}",\n  "version": "${version}",\n  "date": "${new Date().toISOString().slice(0, 10)}",\n  "names": {\n${lines.join(',\n')}\n  }\n}`,
);
