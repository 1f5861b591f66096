// Reads a script from a file.
import { codeOf, reasonOf } from '../embedded/setup-problem.ts';
import { readNamedFile } from '../read-named-file.ts';
import type { ScriptData } from './script.ts';
import { parseScript } from './script-format.ts';

/** Rejects with what is wrong with the file, a line for each mistake, naming its path in the script. */
export async function loadScript(file: string): Promise<ScriptData> {
  let json: string;
  try {
    json = readNamedFile(file);
  } catch (error) {
    const code = codeOf(error) ?? reasonOf(error);
    const why = code === 'ENOENT' ? 'does not exist' : `cannot be read (${code})`;
    throw new Error(`the script ${file} ${why}: name another`, { cause: error });
  }
  return parseScript(json, file);
}
