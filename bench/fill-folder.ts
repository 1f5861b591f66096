// Makes workspaces, and fills them with small files, a hundred to a folder.
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

const EACH = 100;
/** Bytes, about those of a file of source code. */
const SIZE = 3_000;

/** Makes a folder with the one file that is read in each turn. */
export async function makeWorkspace(path: string): Promise<void> {
  await mkdir(path);
  await writeFile(join(path, 'small.txt'), 'a small file\n');
}

export async function fillFolder(root: string, files: number): Promise<void> {
  for (let first = 0; first < files; first += EACH) {
    const folder = join(root, 'src', `part-${first / EACH}`);
    await mkdir(folder, { recursive: true });
    const numbers = Array.from({ length: Math.min(EACH, files - first) }, (_, at) => first + at);
    await Promise.all(numbers.map((number) => writeFile(join(folder, `file-${number}.ts`), textOf(number))));
  }
}

function textOf(number: number): string {
  const line = `export const value = ${number};\n`;
  return line.repeat(Math.ceil(SIZE / line.length));
}
