// Writes docs/loop.md: `npm run loop-table`.
import { writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { findProofs, loopTable } from './loop-table.ts';

const root = resolve(import.meta.dirname, '../..');
writeFileSync(`${root}/docs/loop.md`, loopTable(findProofs(`${root}/`)));
process.stdout.write('docs/loop.md is written\n');
