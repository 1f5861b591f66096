// A program of an outside user that names everything that the entries export.
import { entryExports } from '../docs/api-names.ts';

export function namedTypes(): string {
  return [...entryExports()]
    .map(([from, exported], at) => {
      const names = [...exported.keys()].map((name) => `${name} as ${name}${at}`);
      return `export type { ${names.join(', ')} } from '${from}';`;
    })
    .join('\n');
}
