// The variables that the documents name, and those of the programs that read them besides.
import { readFileSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';

const docs = resolve(import.meta.dirname, '../../docs');

export function knownVariables(): ReadonlySet<string> {
  const pages = readdirSync(docs).filter((name) => name.endsWith('.md') && name !== 'deploying.md');
  const texts = pages.map((name) => readFileSync(join(docs, name), 'utf8'));
  const named = texts.flatMap((text) => text.match(/\b(?:PERDURE|TEMPORAL|ANTHROPIC|AWS|XDG)_[A-Z0-9_]+\b/g) ?? []);
  return new Set([...named, 'NODE_ENV']);
}
